// Times in the viewer's zone, and figures that renew themselves while somebody looks.
"use strict";

const EVERY = 2000;

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }
}

function tick() {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-live]")) htmx.trigger(part, "tick");
}

document.addEventListener("DOMContentLoaded", () => {
  localize(document);
  setInterval(tick, EVERY);
});
document.addEventListener("htmx:load", (event) => localize(event.detail.elt));
document.addEventListener("visibilitychange", tick);
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400) event.detail.shouldSwap = false;
});
