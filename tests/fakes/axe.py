"""What every page is held to in a browser: axe-core, nothing cut off or too close, and targets that a finger meets."""

from pathlib import Path
from typing import Final

from tests.fakes.browser import Browser

AXE: Final = (Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
RULES: Final = (
    "const [place, done] = arguments; axe.run(place, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', "
    "'best-practice']}).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' '))))"
)
CONTRAST: Final = (
    "const done = arguments[0]; axe.run(document, {runOnly: {type: 'rule', values: ['color-contrast']}})"
    ".then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' '))))"
)
TARGETS: Final = """
const small = e => {
  const r = e.getBoundingClientRect();
  const least = e.matches(".side a") && !matchMedia("(pointer: coarse)").matches ? 29.5 : 43.5;
  return r.width && r.height && (r.height < least || r.width < 43.5);
};
return Array.from(document.querySelectorAll(
  "button, .button, select, summary, nav a, input:not([type=hidden]):not([type=checkbox]):not([type=radio])"
)).filter(small).map(e => e.outerHTML);
"""
"""What is pressed, and is smaller than 44 px (WCAG 2.2, 2.5.5).

The menu beside the page has lines of 30 px where there is no finger, so that it fits; 24 px are the least (2.5.8).
"""
CUT: Final = """
return Array.from(document.querySelectorAll("main *")).filter(e => {
  const s = getComputedStyle(e);
  return e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && s.overflowX !== "visible" && s.overflowX !== "auto"
    && !["INPUT", "SELECT", "TEXTAREA", "IFRAME"].includes(e.tagName);
}).map(e => e.outerHTML.slice(0, 200));
"""
"""What is cut off, and cannot be scrolled to. An ellipsis is no excuse."""
SPILT: Final = """
const texts = "main :is(h1, h2, h3, p, dt, dd, tbody th, td, li, label, button, .button)";
return Array.from(document.querySelectorAll(texts))
  .filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "visible")
  .map(e => e.outerHTML.slice(0, 200));
"""
"""What shows text beyond its own edge."""
CLOSE: Final = """
return Array.from(document.querySelectorAll("main > section")).filter(e => {
  const before = e.previousElementSibling;
  const gap = before && e.getBoundingClientRect().top - before.getBoundingClientRect().bottom;
  return before && before.checkVisibility() && e.checkVisibility() && gap > -1 && gap < 15.5;
}).map(e => e.outerHTML.slice(0, 200));
"""
"""Parts of a page that touch what is above them."""
COVERED: Final = """
const seen = (e, box) => {
  let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
  for (let up = e; up; up = up.parentElement) {
    const s = getComputedStyle(up);
    if (s.visibility === "hidden" || s.clipPath !== "none") return null;
    if (up === e || s.overflowX === "visible") continue;
    const clip = up.getBoundingClientRect();
    left = Math.max(left, clip.left); right = Math.min(right, clip.right);
    top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom);
  }
  return right - left > 1 && bottom - top > 1 ? {left, top, right, bottom} : null;
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
for (let node; node = walker.nextNode();) {
  const e = node.parentElement;
  if (!node.data.trim() || e.closest(".skip, noscript, option, datalist, script") || !e.checkVisibility()) continue;
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    const part = seen(e, box);
    if (part) found.push({...part, e, node, text: node.data.trim().slice(0, 60)});
  }
}
for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea, progress, iframe, svg, img")) {
  const part = e.checkVisibility() && seen(e, e.getBoundingClientRect());
  if (part) found.push({...part, e, node: e, text: e.outerHTML.slice(0, 60)});
}
const fixed = e => e.closest(".top") ? "top" : e.closest(".side") ? "side" : "page";
const said = [];
found.forEach((a, i) => found.slice(i + 1).forEach(b => {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  const least = Math.min(a.bottom - a.top, b.bottom - b.top);
  const apart = a.node !== b.node && fixed(a.e) === fixed(b.e);
  if (apart && wide > 2 && high > least * .35) said.push(`${a.text} | ${b.text}`);
}));
for (const a of found) if (a.left < -1 || a.right > innerWidth + 1) said.push(`${a.text} | beyond the edge`);
return said;
"""
"""Texts, fields and pictures that cover one another, or are beyond the window's edge."""


SCROLLED: Final = """
if (innerWidth < 768) return [];
const wide = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1);
return wide.map(e => `${e.innerText.slice(0, 40)} | ${e.scrollWidth} px in ${e.clientWidth}`);
"""
"""Tables that are wider than their frame, so that their last column is cut, on a tablet or in a window."""


FAULTS: Final = {
    "small": TARGETS,
    "wider than its frame": SCROLLED,
    "cut off": CUT,
    "beyond its edge": SPILT,
    "too close": CLOSE,
    "covered": COVERED,
}
"""What a page may have nothing of, by its script."""
ALL_FAULTS: Final = f"return {{{', '.join(f'{fault!r}: (() => {{{script}}})()' for fault, script in FAULTS.items())}}};"
"""All of them at once: each question to a browser takes time."""


def violations(browser: Browser, css: str = "html") -> list[str]:
    """Return what axe-core finds wrong in an element, by rule."""
    if not browser.script("return Boolean(window.axe)"):  # it takes half a megabyte to give it to a page
        browser.script(AXE)
    found: list[str] = browser.do("POST", "/execute/async", {"script": RULES, "args": [css]})
    return found


def dim(browser: Browser) -> list[str]:
    """Return what has too little contrast, which alone differs between light and dark. axe-core is in the page."""
    found: list[str] = browser.do("POST", "/execute/async", {"script": CONTRAST, "args": []})
    return found


def assert_laid_out(browser: Browser, width: int, where: str = "") -> None:
    """Hold the page that the browser shows to a width: nothing is cut off, covered, too close or too small.

    Args:
        browser: which shows it, and may run scripts.
        width: of the window, in CSS pixels.
        where: which page it is, for what is said of a failure.
    """
    wide = browser.script("return document.documentElement.scrollWidth")
    assert wide <= width, f"{where}: WCAG 2.2, 1.4.10: nothing to scroll sideways"
    found = {fault: some for fault, some in browser.script(ALL_FAULTS).items() if some}
    assert not found, f"{where}: {found}"


def assert_accessible(browser: Browser, width: int, where: str = "") -> None:
    """Hold the page that the browser shows to all of it: its layout, and the rules of axe-core.

    Args:
        browser: which shows it, and may run scripts.
        width: of the window, in CSS pixels.
        where: which page it is, for what is said of a failure.
    """
    assert_laid_out(browser, width, where)
    found = violations(browser)
    assert not found, f"{where}: {found}"


FOCUSABLE: Final = """
const radios = new Set();
const wanted = Array.from(document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
)).filter(e => {
  if (e.disabled || !e.checkVisibility({visibilityProperty: true})) return false;
  if (e.type !== "radio") return true;
  const one = document.querySelector(`input[type=radio][name="${e.name}"]:checked`) || e;
  if (radios.has(e.name) || one !== e) return false;
  return radios.add(e.name);
});
document.querySelectorAll("[data-live]").forEach(e => {
  e.removeAttribute("data-live");  // a part that renews itself meanwhile is another than the one that was numbered
  window.htmx?.trigger(e, "htmx:abort");
});
wanted.forEach((e, n) => e.dataset.place = n);
window.focused = [];
document.addEventListener("focusin", e => {
  const style = getComputedStyle(e.target);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  window.focused.push([Number(e.target.dataset.place ?? -1), ring, e.target.outerHTML.slice(0, 120)]);
});
return [wanted.length, document.querySelectorAll("input[type*=date], input[type=time], iframe").length];
"""
PARTS: Final = 8
"""Stops of a field for a time, and at the most of a frame."""
TAB: Final = "\ue004"
ENTER: Final = "\ue007"


def press_keys(browser: Browser, *keys: str) -> None:
    """Press keys, one after the other (https://www.w3.org/TR/webdriver2/#keyboard-actions)."""
    moves = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    browser.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": moves}]})


def assert_keyboard_reaches_all(browser: Browser, where: str = "") -> None:
    """Go through the page by Tab: everything that can be used is reached, in the order of the page, with a ring.

    Args:
        browser: which shows the page; nothing in it has the focus.
        where: which page it is, for what is said of a failure.
    """
    count, more = browser.script(FOCUSABLE)
    press_keys(browser, *[TAB] * (count + PARTS * more))
    for _ in range(PARTS * (more + 1)):  # a key that is pressed while the focus goes into a frame is lost
        focused = browser.script("return window.focused")
        order = list(dict.fromkeys(place for place, _, _ in focused if place >= 0))
        missed = set(range(count)) - set(order)
        if not missed:
            break
        press_keys(browser, TAB)
    assert [html for _, ring, html in focused if not ring] == [], f"{where}: WCAG 2.2, 2.4.7: the focus is seen"
    assert order == sorted(order), f"{where}: WCAG 2.2, 2.4.3: {focused}"
    script = "return [...document.querySelectorAll('[data-place]')].map(e => e.outerHTML.slice(0, 120))"
    assert not missed, f"{where}: not reached: {[browser.script(script)[n] for n in sorted(missed)]}"
