// Campaigns: a preview that follows what is typed, files that go straight to the bucket, and the viewer's time zone.
"use strict";

const QUIET = 600;

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

async function ask(url, values) {
  let answer;
  try {
    answer = await fetch(url, { method: "POST", body: new URLSearchParams(values) });
  } catch {
    throw new Failure("Posthaste could not be reached. Check your connection.");
  }
  if ((answer.headers.get("content-type") || "").startsWith("application/json")) return answer.json();
  if (answer.ok) throw new Failure("Your session has ended. Open this page again, and sign in.");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const said = page.querySelector("main p");
  throw new Failure(said ? said.textContent : "Posthaste did not take it.");
}

function put(place, file, meter) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => event.lengthComputable && meter(event.loaded / event.total));
    request.addEventListener("load", () => {
      if (request.status === 200) resolve(request.getResponseHeader("etag") || "");
      else reject(new Failure(`The store of files refused it (${request.status}).`));
    });
    request.addEventListener("error", () => reject(new Failure("The connection was lost on the way.")));
    request.addEventListener("abort", () => reject(new Failure("You cancelled it.")));
  });
  request.open("PUT", place.url);
  for (const [name, value] of Object.entries(place.headers)) request.setRequestHeader(name, value);
  request.send(file);
  return [request, done];
}

function uploader(zone) {
  const part = (name) => document.getElementById(name);
  const input = part("file");
  let file = null;
  let request = null;
  zone.hidden = false;

  function meter(share) {
    const percent = Math.floor(share * 100);
    part("upload-bar").value = percent;
    part("upload-state").textContent = `${file.name}: ${percent} % uploaded`;
  }

  async function send() {
    part("upload-fault").hidden = true;
    part("upload-progress").hidden = false;
    meter(0);
    const csrf = zone.dataset.csrf;
    try {
      const duplicates = part("drop").checked ? "drop" : "keep";
      const place = await ask(zone.dataset.begin, { csrf, file: file.name, duplicates });
      const [asked, done] = put(place, file, meter);
      request = asked;
      const etag = await done;
      await ask(`${zone.dataset.begin}/${place.upload}/complete`, { csrf, etag });
      location.assign(zone.dataset.done);
    } catch (fault) {
      part("upload-progress").hidden = true;
      part("upload-fault").hidden = false;
      part("upload-reason").textContent = fault instanceof Failure ? fault.message : "Something went wrong.";
      part("upload-again").focus();
      if (!(fault instanceof Failure)) throw fault;
    }
  }

  function take(files) {
    if (files.length !== 1) return;
    [file] = files;
    send();
  }

  input.addEventListener("change", () => take(input.files));
  part("upload-again").addEventListener("click", send);
  part("upload-stop").addEventListener("click", () => request && request.abort());
  for (const name of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files);
    });
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
