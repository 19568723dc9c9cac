"use strict";
// Shows openapi.json with Swagger UI. Adds a search over paths and summaries, and each operation's samples in tabs.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

const base = location.href.replace(/\/docs\/?(\?.*)?(#.*)?$/, "");
const chosen = { label: "curl", seen: new Set() };
const choose = (label) => {
  chosen.label = label;
  chosen.seen.forEach((changed) => changed(label));
};

const Samples = ({ React, samples: some }) => {
  const make = React.createElement;
  const [label, setLabel] = React.useState(chosen.label);
  const [copied, setCopied] = React.useState("Copy");
  React.useEffect(() => {
    chosen.seen.add(setLabel);
    return () => { chosen.seen.delete(setLabel); };
  }, []);
  const shown = some.find((sample) => sample.label === label) || some[0];
  const copy = () => navigator.clipboard.writeText(shown.source).then(
    () => setCopied("Copied"), () => setCopied("Not allowed by the browser"));
  const tabs = some.map((sample) => make("button", {
    key: sample.label, type: "button", role: "tab", "aria-selected": sample === shown,
    onClick: () => { choose(sample.label); setCopied("Copy"); },
  }, sample.label));
  return make("section", { className: "samples", "aria-label": "Samples" },
    make("div", { className: "bar" }, make("div", { role: "tablist", "aria-label": "Language" }, ...tabs),
      make("button", { type: "button", className: "copy", onClick: copy }, copied)),
    make("pre", { role: "tabpanel", tabIndex: 0, "aria-label": shown.label }, shown.source));
};

const Posthaste = () => ({
  fn: {
    // Each word of the search is in an operation's method, path, id, summary or tag.
    opsFilter: (tags, phrase) => {
      const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (tag) => (item) => {
        const operation = item.get("operation");
        const text = [tag, item.get("method"), item.get("path"), operation.get("operationId"), operation.get("summary")]
          .join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      return tags.map((group, tag) => group.set("operations", group.get("operations").filter(fits(tag))))
        .filter((group) => group.get("operations").size > 0);
    },
  },
  // A link leads to its operation at once: what one wants to press must not move away under an animation.
  statePlugins: { layout: { wrapActions: { scrollToElement: () => (block) => block.scrollIntoView() } } },
  wrapComponents: {
    FilterContainer: (Original, { React }) => (props) => {
      React.useEffect(() => {
        for (const field of document.querySelectorAll(".operation-filter-input")) {
          field.setAttribute("placeholder", "Search operations");
          field.setAttribute("aria-label", "Search operations");
        }
      });
      return React.createElement(Original, props);
    },
    // The component itself draws only what is in the window once there are many: the browser's search misses the rest,
    // and a link's operation moves after it is drawn.
    operations: (_, { React }) => ({ getComponent, specSelectors, ...props }) => {
      const [Tag, Operation] = [getComponent("OperationTag"), getComponent("OperationContainer", true)];
      const row = (tag) => (item) => React.createElement(Operation, {
        key: `${item.get("path")}-${item.get("method")}`, tag, op: item,
        specPath: item.get("specPath"), path: item.get("path"), method: item.get("method"),
      });
      const group = ([tag, tagObj]) => React.createElement(
        Tag, { key: tag, tag, tagObj, getComponent, specUrl: specSelectors.url(), ...props },
        React.createElement("div", { className: "operation-tag-content" }, tagObj.get("operations").map(row(tag)).toArray()));
      return React.createElement("div", null, specSelectors.taggedOperations().entrySeq().map(group).toArray());
    },
    responses: (Original, { React, specSelectors }) => (props) => {
      const name = specSelectors.specJson().getIn(["paths", props.path, props.method, "operationId"]);
      const answers = React.createElement(Original, props);
      if (samples.get(name).length === 0) return answers;
      return React.createElement(React.Fragment, null,
        React.createElement(Samples, { React, samples: samples.get(name) }), answers);
    },
  },
});

// The component reads OpenAPI 3.1 many times more slowly than 3.0, so it gets the same document in the older form.
const older = (value) => {
  if (Array.isArray(value)) return value.map(older);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value.type)) {
    const { type, ...others } = value;
    return older({ ...others, anyOf: type.map((each) => ({ type: each })) });
  }
  const { anyOf, const: only, examples, ...rest } = value;
  const out = Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, older(inner)]));
  if (only !== undefined) out.enum = [only];
  if (Array.isArray(examples)) out.example = examples[0];
  if (!Array.isArray(anyOf)) return anyOf === undefined ? out : { ...out, anyOf: older(anyOf) };
  const some = anyOf.filter((schema) => schema.type !== "null").map(older);
  if (some.length < anyOf.length) out.nullable = true;
  if (some.length > 1) return { ...out, anyOf: some };
  return some[0].$ref ? { ...out, allOf: some } : { ...some[0], ...out };
};

const samples = new Map();
const prepared = (found) => {
  // What operations share is in the components.
  const whole = (part) => part.$ref ? found.components[part.$ref.split("/")[2]][part.$ref.split("/")[3]] : part;
  const filled = ({ parameters, responses, ...operation }) => ({
    ...operation, parameters: (parameters || []).map(whole),
    responses: Object.fromEntries(Object.entries(responses).map(([status, answer]) => [status, whole(answer)])),
  });
  for (const [path, methods] of Object.entries(found.paths))
    for (const [method, operation] of Object.entries(methods))
      samples.set(operation.operationId, samplesOf(method.toUpperCase(), path, filled(operation)));
  const { webhooks, ...rest } = found;
  return { ...older(rest), openapi: "3.0.3", servers: [{ ...found.servers[0], url: base }] };
};

const intro = document.getElementById("intro");
const said = (info) => {
  const link = Object.assign(document.createElement("a"), { href: "openapi.json", textContent: "openapi.json" });
  const code = Object.assign(document.createElement("code"), { textContent: base });
  intro.replaceChildren(`${info.description.split("\n")[0]} Version ${info.version}, `, link,
    ". In the samples, POSTHASTE_URL is ", code, ", POSTHASTE_API_KEY is your key, and names in capitals are yours to replace.");
};

fetch("openapi.json").then((answer) => answer.json()).then((found) => {
  said(found.info);
  SwaggerUIBundle({
    spec: prepared(found),
    dom_id: "#docs",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [Posthaste],
    deepLinking: true,
    displayOperationId: true,
    docExpansion: "list",
    filter: true,
    defaultModelsExpandDepth: -1,
    defaultModelExpandDepth: 3,
    persistAuthorization: false,
    validatorUrl: null,
  });
}).catch((error) => { intro.textContent = `The document could not be read: ${error}`; });
