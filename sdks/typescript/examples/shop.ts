// Mail of a shop: one confirmation for each order, and the state of each.
// POSTHASTE_URL=… POSTHASTE_API_KEY=… node shop.ts confirm 4711 ben@example.org orders@example.com
// POSTHASTE_HOOK_SECRET=whsec_… node shop.ts listen 8000
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidRequestError, Posthaste, Webhook, WebhookError } from "../src/index.ts";

// Kind of event → the state that a shop shows. Events come in any order, and the later state in this list wins.
const STATES: ReadonlyMap<string, string> = new Map([
  ["message.sent", "sent"],
  ["message.delivered", "delivered"],
  ["message.skipped", "not sent"],
  ["message.failed", "failed"],
  ["message.bounced", "wrong address"],
  ["message.complained", "unwanted"],
]);
const ORDER = [...STATES.values()];

/** Send the confirmation of an order, once, however often this is called; return what the shop stores. */
async function confirm(order: string, address: string, sender: string): Promise<object> {
  const api = new Posthaste();
  try {
    const made = await api.createBatch(
      {
        from: sender,
        to: [address],
        subject: `Your order ${order}`,
        html: "<p>Thank you. We have your order.</p>",
        reference: order, // events have it, so the shop finds the order
        tags: ["confirmation"],
      },
      { idempotencyKey: `order-${order}-confirmed` },
    );
    return { order, job: made.job_id };
  } catch (error) {
    // Nothing was sent, and a repeat would not help.
    if (error instanceof InvalidRequestError) return { order, error: error.code, fields: error.fields };
    throw error;
  }
}

// A shop keeps these two in its database, in one transaction for each event.
const states = new Map<string, string>();
const seen = new Set<string>();

/** Note an event, once: it comes again if the answer was lost. */
function note(kind: string, event: string, order: string): void {
  const state = STATES.get(kind);
  if (seen.has(event) || state === undefined) return;
  seen.add(event);
  const known = states.get(order);
  if (known === undefined || ORDER.indexOf(state) > ORDER.indexOf(known)) states.set(order, state);
}

/** Take events of the hook, and believe those that are signed with its secret. */
function listen(port: number): void {
  const webhook = new Webhook(process.env.POSTHASTE_HOOK_SECRET ?? "");
  const server = createServer(async (request, answer) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    try {
      for (const { type, id, data } of await webhook.events(Buffer.concat(parts), request.headers))
        note(type, id, String(data.reference ?? ""));
      console.log(JSON.stringify(Object.fromEntries(states)));
      answer.writeHead(204).end(); // 2xx says that the events are stored
    } catch (error) {
      answer.writeHead(error instanceof WebhookError ? 401 : 500).end();
    }
  });
  server.listen(port, "127.0.0.1", () => {
    console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
  });
}

const [command = "", first = "", address = "", sender = ""] = process.argv.slice(2);
if (command === "confirm") console.log(JSON.stringify(await confirm(first, address, sender)));
else listen(Number(first));
