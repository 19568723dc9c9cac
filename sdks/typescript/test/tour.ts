// A tour through a real API, run by the repository's tests; it prints what it saw as JSON.
import { readFileSync } from "node:fs";
import { ApiError, IdempotencyMismatchError, InvalidRequestError, NotFoundError, Posthaste, Webhook } from "../src/index.ts";

const PERSON = "o'hara+x/y@example.org";
const signed = JSON.parse(readFileSync(0, "utf8")) as Record<
  "secret" | "body" | "headers" | "notifier" | "password" | "range",
  string
>;
const api = new Posthaste();

function mail(subject: string, from = "news@example.com") {
  return { from, to: [PERSON], subject, text: "Hello!" };
}

async function codeOf(call: Promise<unknown>, kind: typeof ApiError): Promise<string> {
  const error = await call.then(() => undefined, (fault: unknown) => fault);
  if (error instanceof kind) return error.code;
  throw error ?? new Error("the call was accepted");
}

const made: string[] = [];
for (const n of [0, 1, 2]) made.push((await api.createBatch(mail(`${n}`), { idempotencyKey: `key-${n}` })).batch_id);
const again = await api.createBatch(mail("0"), { idempotencyKey: "key-0" });
const listed: unknown[] = [];
for await (const batch of api.eachBatches({ limit: 1 })) listed.push(batch.batch_id);
const codes = [
  await codeOf(api.createBatch(mail("other"), { idempotencyKey: "key-0" }), IdempotencyMismatchError),
  await codeOf(api.createBatch(mail("x", "stranger@elsewhere.example")), InvalidRequestError),
  await codeOf(api.getJob("nothing"), NotFoundError),
];
await api.putSuppression(PERSON);
const { address } = await api.getSuppression(PERSON);
await api.deleteSuppression(PERSON);
const lines: string[] = [];
for await (const line of api.eachJobLogs(made[0] ?? "", { state: ["queued", "sending"] })) lines.push(line.recipient);
const events = await new Webhook(signed.secret).events(signed.body, JSON.parse(signed.headers));
const notifier = { name: signed.notifier, password: signed.password };
const theirs = new Posthaste({ url: process.env["POSTHASTE_URL"] ?? "", notifier });
const updates: string[] = [];
for await (const update of theirs.eachMessageUpdates(signed.range)) updates.push(update.id);
console.log(
  JSON.stringify({
    same: again.batch_id === made[0],
    listed: JSON.stringify(listed.toSorted()) === JSON.stringify(made.toSorted()),
    codes,
    address,
    lines,
    events: events.map(({ id }) => id),
    async: true,
    updates,
  }),
);
