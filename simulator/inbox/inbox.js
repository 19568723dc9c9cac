"use strict";
const at = id => document.getElementById(id);
const list = at("list"), one = at("one"), count = at("count"), words = at("words"), kind = at("kind");
const GOOD = new Set(["delivered", "open", "click"]), BAD = new Set(["bounce", "blocked", "dropped", "expired", "spamreport", "failed"]);
const FRAME = "default-src 'none'; img-src data: 127.0.0.1:* localhost:*; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";
const EVERY = 1000, rows = new Map();
let chosen = 0, shown = "", asked = 0;
const element = (name, className, text) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
};
function time(seconds, className) {
  const moment = new Date(seconds * 1000), e = element("time", className, moment.toLocaleTimeString());
  e.dateTime = moment.toISOString();
  e.title = moment.toISOString().replace("T", " ").replace("Z", " UTC");
  return e;
}
const state = m => m.webhooks.length ? m.webhooks.join(" → ") : "no webhook yet";
const colour = m => { const w = m.webhooks.at(-1); return GOOD.has(w) ? "good" : BAD.has(w) ? "bad" : ""; };
const title = m => m.subject || (m.kind === "call" ? "Call" : m.kind === "text" ? "Text" : "(no subject)");

// A row stays the same element while its message changes, so that it keeps the focus and a press.
function row(m) {
  const item = element("li"), button = element("button");
  button.type = "button";
  button.onclick = () => open(m.seq);
  item.append(button);
  return { item, button, said: "" };
}
function line(...parts) {
  const e = element("span", "line");
  e.append(...parts);
  return e;
}
function fill(it, m) {
  const said = JSON.stringify(m);
  if (said !== it.said) {
    it.button.replaceChildren(
      line(element("span", "to", m.to), time(m.at, "tag")),
      line(element("span", "subject", title(m)), element("span", "tag " + colour(m), state(m))),
      line(element("span", "from soft", "from " + m.from), element("span", "tag", m.provider + " / " + m.credential)));
    it.said = said;
  }
  it.button.setAttribute("aria-pressed", m.seq === chosen);
}
function show(messages) {
  const wanted = new Set(messages.map(m => m.seq));
  for (const [seq, it] of rows) if (!wanted.has(seq)) { it.item.remove(); rows.delete(seq); }
  list.querySelector(".none")?.remove();
  let next = list.firstElementChild;
  for (const m of messages) {
    const it = rows.get(m.seq) ?? row(m);
    rows.set(m.seq, it);
    fill(it, m);
    if (it.item === next) next = next.nextElementSibling;
    else list.insertBefore(it.item, next);
  }
  if (!messages.length) list.append(element("li", "none", words.value || kind.value ? "No message fits the search." : "Nothing has arrived yet."));
}

// Pictures that the local cloud serves itself.
const LOCAL = /^http:\/\/(127\.0\.0\.1|localhost):/;
// The frame runs no script, and loads only such pictures. A link opens in a tab of its own, as in a mail client.
function framed(html) {
  const mail = new DOMParser().parseFromString(html, "text/html"), base = mail.createElement("base"), policy = mail.createElement("meta");
  base.target = "_blank";
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = FRAME;
  for (const e of mail.querySelectorAll("base, meta[http-equiv]")) e.remove();
  mail.head.prepend(policy, base);
  for (const e of mail.querySelectorAll("[target]")) if (e !== base) e.removeAttribute("target");
  const frame = element("iframe");
  frame.sandbox = "allow-popups allow-popups-to-escape-sandbox"; frame.title = "Message body";
  frame.srcdoc = "<!doctype html>" + mail.documentElement.outerHTML;
  return Array.from(mail.querySelectorAll("img[src^='http']")).some((x) => !LOCAL.test(x.getAttribute("src"))) ? [element("p", "note", "Pictures from other places are not loaded."), frame] : [frame];
}
// The phone that a text went to writes back, to the number that it came from.
function answer(m) {
  const form = element("form", "answer"), label = element("label", "", "Answer from this phone"), text = element("input");
  const button = element("button", "", "Send"), said = element("output", "soft");
  text.value = "STOP"; text.maxLength = 1600; text.name = "text"; label.append(text);
  form.append(label, button, said);
  form.onsubmit = async event => {
    event.preventDefault();
    const to = /^\+\d+$/.test(m.from) ? m.from : "";
    const body = JSON.stringify({from: m.to.replace(/^whatsapp:/, ""), text: text.value, to});
    const done = await fetch(`/_control/${m.provider}/${m.credential}/texts`, {method: "POST", body});
    said.textContent = done.ok ? "sent" : "refused: " + await done.text();
  };
  return form;
}
function pairs(entries) {
  const facts = element("dl");
  for (const [k, v] of entries) facts.append(element("dt", "", k), element("dd", "", v));
  return facts;
}
// Tabs as in the ARIA Authoring Practices: arrows move between them.
function tabs(parts) {
  const bar = element("div"), panels = [];
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", "Parts of the message");
  const pick = chosenPart => [...bar.children].forEach((tab, i) => {
    tab.setAttribute("aria-selected", i === chosenPart);
    tab.tabIndex = i === chosenPart ? 0 : -1;
    panels[i].hidden = i !== chosenPart;
  });
  parts.forEach(([name, nodes], i) => {
    const tab = element("button", "", name), panel = element("div");
    tab.type = "button"; tab.id = "tab-" + i; panel.id = "part-" + i;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.tabIndex = 0;
    panel.append(...nodes);
    tab.onclick = () => pick(i);
    tab.onkeydown = event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const to = (i + step + parts.length) % parts.length;
      pick(to);
      bar.children[to].focus();
    };
    bar.append(tab);
    panels.push(panel);
  });
  pick(0);
  return [bar, ...panels];
}
function body(m) {
  if (m.kind !== "mail") return [element("p", "bubble", m.text)];
  const headers = Object.entries(m.headers);
  return tabs([
    ...(m.html ? [["HTML", framed(m.html)]] : []),
    ...(m.text || !m.html ? [["Text", [element("pre", "", m.text)]]] : []),
    ["Headers", [headers.length ? pairs(headers) : element("p", "none", "The message adds no headers of its own.")]],
  ]);
}
async function open(seq) {
  chosen = seq; shown = "";
  const found = await fetch(`/inbox/${seq}.json`);
  if (!found.ok) return missing();
  const m = await found.json();
  const back = element("button", "back", "Back to the list");
  back.type = "button";
  back.onclick = () => { document.body.classList.remove("reading"); rows.get(seq)?.button.focus(); };
  const facts = pairs([["To", m.to], ["From", m.from], ["Time", new Date(m.at * 1000).toLocaleString()],
    ["Provider", m.provider + " / " + m.credential], ["Reference", m.ref || "none"], ["Webhooks", state(m)],
    ...(m.attachments.length ? [["Attachments", m.attachments.join(", ")]] : [])]);
  one.replaceChildren(back, element("h2", "", title(m)), facts, ...(m.writes ? [answer(m)] : []), ...body(m));
  document.body.classList.add("reading");
  refresh();
}
function missing() {
  one.replaceChildren(element("p", "none", "This message is not in the inbox. It keeps the newest 2,000, and a message that no provider accepted never arrives."));
  document.body.classList.add("reading");
}
async function refresh() {
  const turn = ++asked;
  const query = new URLSearchParams({ limit: 200, ...(words.value && { q: words.value }), ...(kind.value && { kind: kind.value }) });
  try {
    const answer = await (await fetch(`/inbox.json?${query}`)).text();
    if (turn !== asked || answer === shown) return;
    shown = answer;
    const inbox = JSON.parse(answer);
    count.textContent = inbox.accepted.toLocaleString() + " accepted" + (inbox.messages.length ? "" : ", nothing to show");
    show(inbox.messages);
  } catch { count.textContent = "the simulator does not answer"; }
}
function searched() {
  document.body.classList.remove("reading");
  const query = new URLSearchParams({ ...(words.value && { q: words.value }), ...(kind.value && { kind: kind.value }) });
  history.replaceState(null, "", query.size ? `?${query}` : "/");
  shown = "";
  refresh();
}
async function begin() {
  const query = new URLSearchParams(location.search), ref = query.get("ref");
  words.value = query.get("q") ?? "";
  kind.value = query.get("kind") ?? "";
  if (ref) {
    const found = (await (await fetch(`/inbox.json?${new URLSearchParams({ limit: 1, ref })}`)).json()).messages;
    if (found?.length) await open(found[0].seq);
    else missing();
  }
  refresh();
}
at("search").onsubmit = event => event.preventDefault();
words.oninput = kind.onchange = searched;
begin();
setInterval(() => document.hidden || refresh(), EVERY);
