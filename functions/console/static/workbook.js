// Names of the sheets of a workbook that its user sees, read from the file in the browser: none of it is uploaded.
"use strict";

const ENDING = 65557; // bytes of the longest end of an archive
const MOST_TEXT = 64 * 1024 * 1024;
const TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0";
const STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0";

async function view(file, from, to) {
  return new DataView(await file.slice(from, to).arrayBuffer());
}

// Return the text of a file of an archive; empty if it is not there, or too large to be looked at.
async function textOf(file, wanted) {
  const from = Math.max(0, file.size - ENDING);
  const end = await view(file, from, file.size);
  let at = end.byteLength - 22;
  while (at >= 0 && end.getUint32(at, true) !== 0x06054b50) at -= 1;
  if (at < 0) return "";
  const begin = end.getUint32(at + 16, true);
  const list = await view(file, begin, begin + end.getUint32(at + 12, true));
  for (let n = 0; n + 46 <= list.byteLength && list.getUint32(n, true) === 0x02014b50;) {
    const [size, whole] = [list.getUint32(n + 20, true), list.getUint32(n + 24, true)];
    const [name, extra, note] = [28, 30, 32].map((x) => list.getUint16(n + x, true));
    const named = new TextDecoder().decode(new Uint8Array(list.buffer, n + 46, name));
    if (named === wanted && whole <= MOST_TEXT) return unpacked(file, list.getUint32(n + 42, true), size, list.getUint16(n + 10, true));
    n += 46 + name + extra + note;
  }
  return "";
}

async function unpacked(file, begin, size, method) {
  const head = await view(file, begin, begin + 30);
  const data = begin + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const packed = file.slice(data, data + size).stream();
  return new Response(method ? packed.pipeThrough(new DecompressionStream("deflate-raw")) : packed).text();
}

const parsed = (text) => new DOMParser().parseFromString(text, "application/xml");

async function ofXlsx(file) {
  const book = parsed(await textOf(file, "xl/workbook.xml"));
  return Array.from(book.getElementsByTagNameNS("*", "sheet"))
    .filter((sheet) => !/hidden/i.test(sheet.getAttribute("state") || ""))
    .map((sheet) => sheet.getAttribute("name"));
}

async function ofOds(file) {
  const content = parsed(await textOf(file, "content.xml"));
  const hidden = new Set();
  for (const look of content.getElementsByTagNameNS(STYLE, "table-properties"))
    if (look.getAttributeNS(TABLE, "display") === "false") hidden.add(look.parentNode.getAttributeNS(STYLE, "name"));
  return Array.from(content.getElementsByTagNameNS(TABLE, "table"))
    .filter((sheet) => sheet.parentNode.localName === "spreadsheet" && !hidden.has(sheet.getAttributeNS(TABLE, "style-name")))
    .map((sheet) => sheet.getAttributeNS(TABLE, "name"));
}

// A workbook that this cannot read has no names here: Posthaste then reads its first sheet, or says what is wrong.
async function sheetsOf(file) {
  const read = { xlsx: ofXlsx, ods: ofOds }[file.name.toLowerCase().split(".").pop()];
  if (!read || typeof DecompressionStream === "undefined") return [];
  try {
    return (await read(file)).filter(Boolean);
  } catch {
    return [];
  }
}
