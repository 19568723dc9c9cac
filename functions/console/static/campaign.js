// Campaigns: a preview that follows what is typed, files that go straight to the bucket, and the viewer's time zone.
"use strict";

const QUIET = 600;
const SPOKEN = 10;

function watch(form) {
  const button = form.querySelector("[data-refresh]");
  let waiting = 0;
  function refresh() {
    // A new frame each time: a navigation of the old one would be a step of the browser's history.
    const old = document.getElementById("preview");
    const fresh = old.cloneNode(false);
    fresh.removeAttribute("src");
    old.replaceWith(fresh);
    form.requestSubmit(button);
  }
  // The row whose message is shown is a field of the form beside the preview.
  document.addEventListener("input", (event) => {
    if (event.target.form !== form) return;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, QUIET);
  });
  if (form.elements.row) form.elements.row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it would save
    refresh();
  });
  if (form.elements.body.value) refresh();
}

// What can be put into the message: a press puts it where the cursor was last, in one of the message's fields.
function chips(list) {
  const fields = ["subject", "body", "text"].map((name) => document.getElementById(name)).filter(Boolean);
  let into = document.getElementById(list.dataset.into);
  into.setSelectionRange(into.value.length, into.value.length);
  for (const field of fields) field.addEventListener("focus", () => { into = field; });
  for (const code of list.querySelectorAll("li code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(code.cloneNode(true));
    button.addEventListener("click", () => {
      into.setRangeText(button.textContent, into.selectionStart, into.selectionEnd, "end");
      into.dispatchEvent(new Event("input", { bubbles: true }));
      into.focus();
    });
    code.replaceWith(button);
  }
  for (const choice of document.querySelectorAll("[name=format]")) choice.addEventListener("change", () => {
    for (const code of list.querySelectorAll("[data-html]")) code.textContent = code.dataset[choice.value];
  });
}

class Failure extends Error {}
const CANCELLED = "You cancelled it.";

async function ask(url, values, signal) {
  let answer;
  try {
    const body = values instanceof FormData ? values : new URLSearchParams(values);
    answer = await fetch(url, { method: "POST", body, signal, headers: { Accept: "application/json" } });
  } catch {
    throw new Failure(signal && signal.aborted ? CANCELLED : "Posthaste could not be reached. Check your connection.");
  }
  if ((answer.headers.get("content-type") || "").startsWith("application/json")) return answer.json();
  if (answer.ok) throw new Failure("Your session has ended. Open this page again, and sign in.");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const said = page.querySelector("main p");
  throw new Failure(said ? said.textContent : "Posthaste did not take it.");
}

function put(place, file, meter, signal) {
  const request = new XMLHttpRequest();
  signal.addEventListener("abort", () => request.abort());
  return new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => event.lengthComputable && meter(event.loaded / event.total));
    request.addEventListener("load", () => {
      if (request.status === 200) resolve(request.getResponseHeader("etag") || "");
      else reject(new Failure(`The store of files refused it (${request.status}).`));
    });
    request.addEventListener("error", () => reject(new Failure("The connection was lost on the way.")));
    request.addEventListener("abort", () => reject(new Failure(CANCELLED)));
    request.open("PUT", place.url);
    for (const [name, value] of Object.entries(place.headers)) request.setRequestHeader(name, value);
    request.send(file);
  });
}

// What a file is, as far as its begin shows: LOOKED bytes of it.
const LOOKED = 64 * 1024 * 1024;
const PIECE = 1024 * 1024;
const NO_TEXT = ["504b0304", "d0cf11e0", "fffe0000", "0000feff"];
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function hashOf(file) {
  if (file.size > LOOKED || !(crypto && crypto.subtle)) return "";
  return hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
}

function lettersOf(text, count) {
  count.bad += (text.match(/\ufffd/g) || []).length;
  count.good += (text.match(/[^\x00-\x7f\ufffd]/g) || []).length;
}

// Encodings with a byte for each letter, and what no text has: as `encodings.py`.
const CODE_PAGES = ["windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1257",
  "iso-8859-2", "iso-8859-15", "macintosh"];
const SIGN = "[\\u00a2-\\u00a9\\u00ac\\u00ae-\\u00b4\\u00b6\\u00b8\\u00b9\\u00bc-\\u00be\\u00d7\\u00f7\\u02c6-\\u02dd\\u2020\\u2021\\u2030\\u2202-\\u2265\\u25ca]";
const ODD = new RegExp(`[\\x80-\\x9f\\ufffd]|${SIGN}(?=\\p{L})|(?<=\\p{L})(?:${SIGN}|\\u00bf)|[A-Za-z][\\u0370-\\u04ff]`
  + "|[\\u0370-\\u04ff][A-Za-z]|[\\u00c0-\\u024f]{4,}|(?<=\\p{Ll})(?![A-Z])\\p{Lu}", "gu");
const EXAMPLE = /[^\r\n]{0,12}[^\x00-\x7f][^\r\n]{0,11}/;

// Return a text as each code page reads it, the likeliest first: name and example.
function readings(bytes) {
  const lines = new Map();
  for (const name of CODE_PAGES) {
    const text = new TextDecoder(name).decode(bytes).split(/[\r\n]+/).filter((line) => /[^\x00-\x7f]/.test(line)).slice(0, 200).join("\n");
    if (!Array.from(lines.values()).includes(text)) lines.set(name, text);
  }
  const odd = (text) => (text.match(ODD) || []).length;
  return Array.from(lines).sort((a, b) => odd(a[1]) - odd(b[1])).map(([name, text]) => [name, (EXAMPLE.exec(text) || [""])[0]]);
}

// Return the encoding of a CSV file that is not UTF-8, and what to ask about it.
async function oddities(file) {
  const none = { encoding: "", question: "" };
  if (!file.name.toLowerCase().endsWith(".csv")) return none;
  const start = hex(await file.slice(0, 4).arrayBuffer());
  if (NO_TEXT.includes(start)) return none;
  if (start.startsWith("fffe") || start.startsWith("feff")) return { encoding: "utf-16", question: "This file is UTF-16, not UTF-8. Read it so?" };
  const decoder = new TextDecoder();
  const count = { good: 0, bad: 0 };
  let found = [];
  for (let at = 0; at < Math.min(file.size, LOOKED); at += PIECE) {
    const piece = await file.slice(at, at + PIECE).arrayBuffer();
    const before = count.bad;
    lettersOf(decoder.decode(piece, { stream: true }), count);
    if (count.bad > before && !found.length) found = readings(piece);
  }
  if (file.size <= LOOKED) lettersOf(decoder.decode(), count);
  if (!count.bad) return none;
  if (count.good > count.bad) return { encoding: "utf-8", question: `This file is UTF-8 with damaged letters (${count.bad}). Leave out the rows that have them?` };
  if (!found.length) found = [["windows-1252", ""]];
  const [[encoding, example]] = found;
  const name = encoding[0].toUpperCase() + encoding.slice(1);
  return { encoding, found, question: `This file is not UTF-8. It looks like ${name}${example && `, for example “${example}”`}. Read it so?` };
}

class Declined extends Error {}

// Ask beside the place for files; a no ends the upload.
function agreed(text, signal, focus = "upload-yes") {
  const part = (name) => document.getElementById(name);
  part("upload-asked").textContent = text;
  part("upload-question").hidden = false;
  part(focus).focus();
  return new Promise((resolve, reject) => {
    part("upload-yes").onclick = resolve;
    part("upload-no").onclick = () => reject(new Declined());
    signal.addEventListener("abort", () => reject(new Failure(CANCELLED)));
  }).finally(() => { part("upload-question").hidden = true; });
}

// Ask about an encoding; of several that a file may have, each is shown with an example.
async function encodingOf(likely, question, found, signal) {
  const part = (name) => document.getElementById(name);
  part("encoding").replaceChildren(...found.map(([name, example]) => new Option(`${name}: ${example}`, name)));
  part("encoding-choice").hidden = found.length < 2;
  await agreed(question, signal, found.length < 2 ? "upload-yes" : "encoding").finally(() => { part("encoding-choice").hidden = true; });
  return found.length < 2 ? likely : part("encoding").value;
}

// Ask which sheet of a workbook has the list; of a single one nothing is asked.
async function sheetOf(file, signal) {
  const names = await sheetsOf(file);
  if (names.length < 2) return "";
  const part = (name) => document.getElementById(name);
  part("sheet").replaceChildren(...names.map((name) => new Option(name, name)));
  part("sheet-choice").hidden = false;
  await agreed(`This workbook has ${names.length} sheets. Choose the one with the list.`, signal, "sheet")
    .finally(() => { part("sheet-choice").hidden = true; });
  return part("sheet").value;
}

function uploader(zone) {
  const part = (name) => document.getElementById(name);
  const input = part("file");
  let file = null;
  let underWay = null;
  zone.hidden = false;

  // The bar moves all the time; the sentence is read out, so it changes in steps.
  function meter(share) {
    const percent = Math.floor(share * 100);
    part("upload-bar").value = percent;
    const said = `${file.name}: ${percent - (percent % SPOKEN)} % uploaded`;
    if (part("upload-state").textContent !== said) part("upload-state").textContent = said;
  }

  async function send() {
    underWay = new AbortController();
    const { signal } = underWay;
    part("upload-note").textContent = "";
    part("upload-fault").hidden = true;
    part("upload-progress").hidden = false;
    part("upload-stop").hidden = false;
    meter(0);
    const csrf = zone.dataset.csrf;
    try {
      const duplicates = part("keep").checked ? "keep" : "drop";
      const column = part("column").value;
      const hidden_rows = part("hidden-rows").checked ? "keep" : "drop";
      const { encoding: likely, question, found } = await oddities(file);
      const encoding = question ? await encodingOf(likely, question, found || [], signal) : likely;
      const sheet = await sheetOf(file, signal);
      const sha256 = await hashOf(file);
      const place = await ask(zone.dataset.begin, { csrf, file: file.name, size: file.size, duplicates, column, hidden_rows, encoding, sheet, sha256 }, signal);
      if (place.before) await agreed(place.before, signal);
      const etag = await put(place, file, meter, signal);
      part("upload-stop").hidden = true; // from here on the list is taken
      await ask(`${zone.dataset.begin}/${place.upload}/complete`, { csrf, etag });
      location.assign(zone.dataset.done);
    } catch (fault) {
      underWay = null;
      part("upload-progress").hidden = true;
      if (fault instanceof Declined) {
        part("upload-note").textContent = "Nothing was uploaded. Choose another file.";
        input.value = "";
        input.focus();
        return;
      }
      part("upload-fault").hidden = false;
      part("upload-reason").textContent = fault instanceof Failure ? fault.message : "Something went wrong.";
      part("upload-again").focus();
      if (!(fault instanceof Failure)) throw fault;
    }
  }

  function take(files) {
    const note = (text) => { part("upload-note").textContent = text; };
    if (underWay) return note("A file is uploaded already. Cancel that first.");
    if (!files.length) return note("That was no file. Drop a spreadsheet or a CSV file.");
    if (files.length > 1) return note(`These are ${files.length} files, and a campaign takes one list at a time. Drop one of them, or put all rows into one file.`);
    [file] = files;
    return send();
  }

  input.addEventListener("change", () => input.files.length && take(input.files));
  part("upload-again").addEventListener("click", send);
  part("upload-stop").addEventListener("click", () => underWay && underWay.abort());
  for (const name of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files);
    });
    // A file that misses the place does not replace the page.
    document.addEventListener(name, (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("[data-preview]")) watch(form);
  for (const list of document.querySelectorAll("[data-into]")) chips(list);
  const zone = document.getElementById("upload");
  if (zone) uploader(zone);
  const place = document.getElementById("zone");
  if (place) place.value = Intl.DateTimeFormat().resolvedOptions().timeZone || place.value;
  const at = document.getElementById("at");
  if (at) at.addEventListener("input", () => { document.getElementById("later").checked = true; });
});
