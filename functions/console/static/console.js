// Times in the viewer's zone, tables that phones show as cards, and figures that renew themselves while somebody looks.
"use strict";

const EVERY = 2000;

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }
}

// Each cell gets the name of its column; roles keep a table a table for screen readers, however it is laid out.
function label(root) {
  for (const table of root.querySelectorAll("table")) {
    const names = Array.from(table.querySelectorAll("thead th"), (th) => th.textContent);
    table.classList.add("cards");
    table.setAttribute("role", "table");
    for (const part of table.querySelectorAll("thead, tbody")) part.setAttribute("role", "rowgroup");
    for (const th of table.querySelectorAll("thead th")) th.setAttribute("role", "columnheader");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      for (const cell of row.cells) {
        if (cell.closest("thead")) continue;
        cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
        if (cell.tagName === "TD" && cell.colSpan === 1) cell.dataset.label = names[cell.cellIndex] || "";
      }
    }
  }
}

// Buttons that copy a text of the page; without scripts there are none.
async function copy(event) {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
}

function tick() {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-live]")) htmx.trigger(part, "tick");
}

// Figures that renew themselves are not read out each time: only a new state is, in a region that stays.
let last = "";

function say(quietly) {
  const part = document.querySelector("[data-say]");
  if (!part || part.dataset.say === last) return;
  last = part.dataset.say;
  if (!quietly) document.getElementById("said").textContent = last;
}

// What is typed into a form is not lost if the session has ended by then. The tab keeps it over the sign-in, for the
// same person and the same page.
const KEPT = "posthaste form";
const typed = (form) =>
  Array.from(form.elements).filter((x) => x.name && /^(text|search|email|url|textarea|select-one|checkbox|radio)$/.test(x.type));
const person = () => (document.querySelector(".person .menu p") || { textContent: "" }).textContent;

function keep(event) {
  const form = event.target;
  if (form.method !== "post" || !typed(form).length) return;
  const fields = typed(form).map((x) => [x.name, x.value, x.checked === true]);
  const page = [location.pathname, location.search, form.getAttribute("action"), person()];
  sessionStorage.setItem(KEPT, JSON.stringify({ page, fields, away: false }));
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) || "null");
  if (!kept) return;
  const [path, search, action, who] = kept.page;
  if (location.pathname.endsWith("/console/sign-in")) {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...kept, away: true }));
    return;
  }
  if (!kept.away || location.pathname !== path || person() !== who) {
    sessionStorage.removeItem(KEPT);
    return;
  }
  if (location.search !== search) {
    location.replace(path + search);
    return;
  }
  sessionStorage.removeItem(KEPT);
  const form = Array.from(document.forms).find((x) => x.method === "post" && typed(x).length && x.getAttribute("action") === action);
  if (!form) return;
  for (const [name, value, checked] of kept.fields) {
    for (const field of typed(form).filter((x) => x.name === name)) {
      if (!/^(checkbox|radio)$/.test(field.type)) field.value = value;
      else if (field.value === value) field.checked = checked;
    }
  }
  const note = document.createElement("p");
  note.setAttribute("role", "status");
  note.textContent = "Your session had ended, and nothing was changed. What you typed is here again.";
  document.querySelector("main h1").after(note);
}

// A page that comes back from the browser's history shows what was true then; but what is typed stays.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !document.querySelector("form[data-preview]")) location.reload();
});

document.addEventListener("submit", keep);
document.addEventListener("DOMContentLoaded", () => {
  localize(document);
  label(document);
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = !navigator.clipboard;
  const here = document.querySelector(".side [aria-current]");
  if (here) here.scrollIntoView({ block: "nearest" });
  say(true);
  setInterval(tick, EVERY);
  restore();
});
document.addEventListener("click", copy);
document.addEventListener("visibilitychange", tick);

// A renewal takes no link from under a finger or a pointer, and leaves the keyboard's focus where it is.
let pressed = false;
let focused = "";
let scrolled = 0;
for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"])
  document.addEventListener(name, (event) => { pressed = event.buttons > 0; });

// What an element is found by in the part that replaces it; empty: by nothing.
function mark(element) {
  const name = ["id", "href", "aria-label", "name"].find((x) => element.getAttribute(x));
  return name ? `${element.localName}[${name}="${CSS.escape(element.getAttribute(name))}"]` : "";
}

document.addEventListener("htmx:beforeSwap", (event) => {
  if (pressed || event.detail.xhr.status >= 400) event.detail.shouldSwap = false;
  const held = document.activeElement;
  focused = event.detail.target.contains(held) ? mark(held) : "";
  scrolled = held.scrollLeft;
});
document.addEventListener("htmx:afterSwap", (event) => {
  localize(event.target);
  label(event.target);
  say(false);
  const same = focused && event.target.querySelector(focused);
  if (!same) return;
  same.focus({ preventScroll: true });
  same.scrollLeft = scrolled;
});
