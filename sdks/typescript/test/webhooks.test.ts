// Webhooks: what is genuine, and what is not. The first vector is that of Standard Webhooks' own libraries.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Webhook, WebhookError } from "../src/index.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const AT = 1_614_265_330;
const BODY = '{"test": 2432232314}';
const GENUINE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const OTHER = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
const HEADERS = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": String(AT),
  "webhook-signature": GENUINE,
};

function webhook(secret = SECRET, ahead = 0): Webhook {
  return new Webhook(secret, { now: () => (AT + ahead) * 1000 });
}

function signed(body: string): Record<string, string> {
  const key = Buffer.from(SECRET.slice(6), "base64");
  const signature = createHmac("sha256", key).update(`evt_1.${AT}.${body}`).digest("base64");
  return { "Webhook-Id": "evt_1", "Webhook-Timestamp": String(AT), "Webhook-Signature": `v1,${signature}` };
}

test("the vector of the standard is genuine", async () => {
  assert.deepEqual(await webhook().verify(BODY, HEADERS), { test: 2432232314 });
  assert.ok(await webhook().verify(new TextEncoder().encode(BODY), new Headers(HEADERS)));
  assert.ok(await webhook(SECRET.slice(6)).verify(BODY, { ...HEADERS, "webhook-signature": [GENUINE] }));
});

test("clocks may differ by five minutes", async () => {
  for (const ahead of [-300, 300]) {
    assert.ok(await webhook(SECRET, ahead).verify(BODY, HEADERS));
    await assert.rejects(webhook(SECRET, ahead + Math.sign(ahead)).verify(BODY, HEADERS), /too old/);
  }
});

test("after a rotation either signature will do", async () => {
  for (const text of [`${OTHER} ${GENUINE}`, `v2,AAAA ${GENUINE} ${OTHER}`]) {
    assert.ok(await webhook().verify(BODY, { ...HEADERS, "webhook-signature": text }));
  }
});

test("a request that was changed is refused", async () => {
  const changes: Record<string, string>[] = [
    { "webhook-id": "msg_other" },
    { "webhook-timestamp": String(AT + 1) },
    { "webhook-timestamp": "1e9" },
    { "webhook-timestamp": "9".repeat(12) },
    { "webhook-timestamp": "9".repeat(5_000) },
    { "webhook-timestamp": "" },
    { "webhook-signature": OTHER },
    { "webhook-signature": GENUINE.replace("v1,", "v1a,") },
    { "webhook-signature": "v1,not base64" },
    { "webhook-signature": "v1," },
    { "webhook-signature": "" },
  ];
  for (const change of changes) {
    await assert.rejects(webhook().verify(BODY, { ...HEADERS, ...change }), WebhookError);
  }
  await assert.rejects(webhook().verify(`${BODY} `, HEADERS), /not of this endpoint/);
  await assert.rejects(webhook(`whsec_${btoa("x".repeat(24))}`).verify(BODY, HEADERS), /not of this endpoint/);
  await assert.rejects(webhook().verify(BODY, {}), /no signature/);
  await assert.rejects(webhook().verify("{", signed("{")), /not JSON/);
});

test("an event has its id, and a batch has its events", async () => {
  const one = { type: "job.logged", timestamp: "2026-11-23T09:00:00Z", data: { job_id: "j1" } };
  let body = JSON.stringify(one);
  assert.deepEqual(await webhook().events(body, signed(body)), [{ ...one, id: "evt_1" }]);
  const several = [{ id: "evt_2", ...one }, { id: "evt_3", ...one }];
  body = JSON.stringify({ type: "batch", timestamp: "2026-11-23T09:00:00Z", data: several });
  assert.deepEqual(await webhook().events(body, signed(body)), several);
  for (const other of ["[]", "{}", '{"type": "batch"}', "null"]) {
    await assert.rejects(webhook().events(other, signed(other)), /no event/);
  }
});

test("what is no secret is refused at once", () => {
  for (const secret of ["", "whsec_", "whsec_ü", "whsec_not base64!"]) {
    assert.throws(() => new Webhook(secret), /secret/);
  }
});
