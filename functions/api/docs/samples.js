"use strict";
// Makes the samples of an operation: curl, and the methods of both SDKs. The page shows them, and so does the site.
const WORDS = { true: "True", false: "False", null: "None" };
const inPython = (value) => JSON.stringify(value, null, 4)
  .replace(/("(?:[^"\\]|\\.)*")|true|false|null/g, (word, text) => text ?? WORDS[word]);
const URL_NAME = "POSTHASTE_URL";
const LOGIN = ["POSTHASTE_NOTIFIER", "POSTHASTE_NOTIFIER_PASSWORD"];

// `values` has the values of the path's parameters, by name. One that is missing is its name in capitals.
const samplesOf = (method, path, operation, values = {}) => {
  if (operation.tags[0] === "Webhooks") return []; // providers call it, each in a format of its own
  const value = (name) => values[name] ?? name.toUpperCase();
  const places = [...path.matchAll(/\{(\w+)\}/g)].map((found) => value(found[1]));
  const body = operation.requestBody?.content["application/json"]?.example;
  const parameters = operation.parameters || [];
  const keyed = parameters.some((each) => each.name === "Idempotency-Key");
  const schemes = (operation.security || [{ key: [] }]).flatMap(Object.keys);
  const notifier = schemes.length > 0 && !schemes.includes("key");

  const url = `"$POSTHASTE_URL${path.replace(/\{(\w+)\}/g, (_, name) => encodeURI(value(name)))}"`;
  const curl = [`curl -sS --fail-with-body ${method === "GET" ? "" : `-X ${method} `}${url}`];
  if (schemes.includes("key")) curl.push('-H "Authorization: Bearer $POSTHASTE_API_KEY"');
  if (notifier) curl.push(`-u "$${LOGIN[0]}:$${LOGIN[1]}"`);
  if (body !== undefined) curl.push("-H 'Content-Type: application/json'");
  if (keyed) curl.push("-H 'Idempotency-Key: order-4711'");
  const form = operation.requestBody?.content["application/x-www-form-urlencoded"]?.example || {};
  for (const [field, text] of Object.entries(form)) curl.push(`-d "${field}=${text}"`);
  if (body !== undefined) curl.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`);
  const samples = [{ label: "curl", source: curl.join(" \\\n  ") + "\n" }];
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  if (schemes.length === 0 || !answers.some(([, answer]) => answer.content?.["application/json"])) return samples;

  const named = places.map((each) => JSON.stringify(each));
  const python = [...named, ...(body === undefined ? [] : [inPython(body)]), ...(keyed ? ['idempotency_key="order-4711"'] : [])];
  const [place, user, password] = [URL_NAME, ...LOGIN].map((name) => `os.environ["${name}"]`);
  const login = notifier ? `${place}, notifier=(${user}, ${password})` : "";
  const snake = operation.operationId.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  samples.push({
    label: "Python",
    source: `${notifier ? "import os\n\n" : ""}from posthaste_sdk import Posthaste\n\nwith Posthaste(${login}) as api:\n`
      + `    print(api.${snake}(${python.join(", ").replaceAll("\n", "\n    ")}))\n`,
  });

  const typescript = [...named];
  if (body !== undefined) typescript.push(JSON.stringify(body, null, 2));
  else if (keyed && operation.requestBody) typescript.push("{}");
  if (keyed && parameters.some((each) => each.in === "query")) typescript.push("{}");
  if (keyed) typescript.push('{ idempotencyKey: "order-4711" }');
  const [address, name, word] = [URL_NAME, ...LOGIN].map((each) => `process.env.${each}!`);
  const options = notifier ? `{ url: ${address}, notifier: { name: ${name}, password: ${word} } }` : "";
  samples.push({
    label: "TypeScript",
    source: `import { Posthaste } from "posthaste-sdk";\n\nconst api = new Posthaste(${options});\n`
      + `console.log(await api.${operation.operationId}(${typescript.join(", ")}));\n`,
  });
  return samples;
};
