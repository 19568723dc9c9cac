// Did Ann get it? Her messages of all jobs, newest first, and why one did not arrive.
// POSTHASTE_URL=… POSTHASTE_API_KEY=… node find.ts ann@example.org [failed,unknown]
import { Posthaste, type Schemas } from "../src/index.ts";

const MOST = 20; // messages that are shown; each further page is another request
const [recipient = "", states = ""] = process.argv.slice(2);
const state = states.split(",").filter(Boolean) as Schemas["MessageState"][];
const api = new Posthaste();
const found: object[] = [];
for await (const message of api.eachMessages({ recipient, ...(state.length ? { state } : {}), limit: MOST })) {
  found.push({
    accepted: message.accepted_at,
    subject: message.subject,
    state: message.state,
    why: message.error_meaning ?? message.error,
    log: `/jobs/${message.job_id}/logs/${message.message}`,
  });
  if (found.length === MOST) break;
}
console.log(JSON.stringify(found));
