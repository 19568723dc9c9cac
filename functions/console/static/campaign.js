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

class Failure extends Error {}
const CANCELLED = "You cancelled it.";

async function ask(url, values, signal) {
  let answer;
  try {
    answer = await fetch(url, { method: "POST", body: new URLSearchParams(values), signal });
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
      const duplicates = part("drop").checked ? "drop" : "keep";
      const place = await ask(zone.dataset.begin, { csrf, file: file.name, duplicates }, signal);
      const etag = await put(place, file, meter, signal);
      part("upload-stop").hidden = true; // from here on the list is taken
      await ask(`${zone.dataset.begin}/${place.upload}/complete`, { csrf, etag });
      location.assign(zone.dataset.done);
    } catch (fault) {
      underWay = null;
      part("upload-progress").hidden = true;
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
  const zone = document.getElementById("upload");
  if (zone) uploader(zone);
  const place = document.getElementById("zone");
  if (place) place.value = Intl.DateTimeFormat().resolvedOptions().timeZone || place.value;
  const at = document.getElementById("at");
  if (at) at.addEventListener("input", () => { document.getElementById("later").checked = true; });
});
