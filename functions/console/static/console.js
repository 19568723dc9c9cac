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

document.addEventListener("DOMContentLoaded", () => {
  localize(document);
  label(document);
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = !navigator.clipboard;
  setInterval(tick, EVERY);
});
document.addEventListener("click", copy);
document.addEventListener("visibilitychange", tick);

// A renewal takes no link from under a finger or a pointer, and leaves the keyboard's focus where it is.
let pressed = false;
let focused = null;
for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"])
  document.addEventListener(name, (event) => { pressed = event.buttons > 0; });
document.addEventListener("htmx:beforeSwap", (event) => {
  if (pressed || event.detail.xhr.status >= 400) event.detail.shouldSwap = false;
  focused = event.detail.target.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
});
document.addEventListener("htmx:afterSwap", (event) => {
  localize(event.target);
  label(event.target);
  const same = Array.from(event.target.querySelectorAll("a[href]")).find((a) => a.getAttribute("href") === focused);
  if (same) same.focus({ preventScroll: true });
});
