// Send a batch and wait for its end: POSTHASTE_URL=… POSTHASTE_API_KEY=… node send.ts invoice-17 FROM ADDRESS…
import { Posthaste } from "../src/index.ts";

const [event = "", from = "", ...to] = process.argv.slice(2);
const api = new Posthaste();
const message = { from, to, subject: "Your invoice", text: "Hello!" };
const batch = await api.createBatch(message, { idempotencyKey: event });
const again = await api.createBatch(message, { idempotencyKey: event }); // the first answer again
await api.wait(batch.job_id, { timeout: 120 });
const lines = [];
for await (const line of api.eachBatchLogs(batch.batch_id, { limit: 1 })) lines.push(line);
console.log(JSON.stringify({ lines, same: again.batch_id === batch.batch_id }));
