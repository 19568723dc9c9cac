// Calls: what is sent, when it is sent again, what comes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApiError,
  AuthenticationError,
  apiError,
  ConflictError,
  ConnectionFailedError,
  ForbiddenError,
  IdempotencyMismatchError,
  InvalidRequestError,
  NotFoundError,
  Posthaste,
  RateLimitedError,
  ServerError,
} from "../src/index.ts";
import { retryAfter } from "../src/retries.ts";

const URL_ = "https://api.example.com/stage";
const KEY = "ph_test_secret";
const MAIL = { from: "a@example.com", to: ["b@example.org"], subject: "S", text: "T" };
const ACCEPTED = { batch_id: "b1", job_id: "j1" };
type Step = (() => Response) | Error;
const LOST = new TypeError("fetch failed");
const CUT: Step = () =>
  new Response(new ReadableStream({ start: (body) => body.error(new TypeError("terminated")) }), { status: 202 });

interface Asked {
  url: string;
  init: RequestInit;
  headers: Headers;
}

/** Answers as scripted, the last step again and again. */
class Server {
  readonly asked: Asked[] = [];
  readonly slept: number[] = [];
  readonly #script: Step[];

  constructor(...script: Step[]) {
    this.#script = script;
  }

  readonly fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    this.asked.push({ url: String(url), init, headers: new Headers(init.headers) });
    const step = this.#script.length > 1 ? this.#script.shift() : this.#script[0];
    if (step instanceof Error || step === undefined) throw step;
    return step();
  };

  client(): Posthaste {
    const sleep = async (seconds: number): Promise<void> => void this.slept.push(seconds);
    return new Posthaste({ url: URL_, key: KEY, fetch: this.fetch, sleep, retries: { jitter: () => 1 } });
  }

  keys(): (string | null)[] {
    return this.asked.map(({ headers }) => headers.get("Idempotency-Key"));
  }
}

function good(document: unknown, status = 200, headers: Record<string, string> = {}): Step {
  return () => Response.json(document, { status, headers });
}

function problem(status: number, code = "", headers: Record<string, string> = {}): Step {
  return good({ status, detail: "No.", code }, status, headers);
}

test("a call has address, key, body and an idempotency key of its own", async () => {
  const server = new Server(good(ACCEPTED, 202));
  assert.deepEqual(await server.client().createBatch(MAIL), ACCEPTED);
  await server.client().createBatch(MAIL);
  const [first] = server.asked;
  assert.equal(first?.url, `${URL_}/batches`);
  assert.equal(first?.init.method, "POST");
  assert.equal(first?.init.redirect, "manual");
  assert.equal(first?.headers.get("Authorization"), `Bearer ${KEY}`);
  assert.deepEqual(JSON.parse(String(first?.init.body)), MAIL);
  assert.equal(new Set(server.keys()).size, 2);
});

for (const [name, fault] of Object.entries({ 500: problem(500), 503: problem(503), 429: problem(429), lost: LOST, cut: CUT })) {
  test(`a repeat after ${name} has the same key and bytes`, async () => {
    const server = new Server(fault, fault, good(ACCEPTED, 202));
    assert.deepEqual(await server.client().createBatch(MAIL), ACCEPTED);
    assert.equal(server.asked.length, 3);
    assert.equal(new Set(server.keys()).size, 1);
    assert.ok(server.keys()[0]);
    assert.equal(new Set(server.asked.map(({ init }) => init.body)).size, 1);
    assert.deepEqual(server.slept, [0.5, 1]);
  });
}

test("a key of the caller's is kept", async () => {
  const server = new Server(problem(502), good(ACCEPTED, 202));
  await server.client().createBatch(MAIL, { idempotencyKey: "invoice-17" });
  assert.deepEqual(server.keys(), ["invoice-17", "invoice-17"]);
});

test("Retry-After is honoured, and too long a wait fails at once", async () => {
  let server = new Server(problem(429, "", { "Retry-After": "7" }), good(ACCEPTED, 202));
  await server.client().createBatch(MAIL);
  assert.deepEqual(server.slept, [7]);
  server = new Server(problem(429, "rate_limited", { "Retry-After": "121" }));
  await assert.rejects(server.client().createBatch(MAIL), (error) => {
    assert.ok(error instanceof RateLimitedError);
    assert.equal(error.retryAfter, 121);
    return true;
  });
  assert.equal(server.asked.length, 1);
});

test("it gives up after its tries and says what is known", async () => {
  let server = new Server(problem(500, "internal_error"));
  await assert.rejects(server.client().createBatch(MAIL), ServerError);
  assert.deepEqual(server.slept, [0.5, 1, 2, 4, 8]);
  server = new Server(LOST);
  await assert.rejects(server.client().createBatch(MAIL, { idempotencyKey: "k" }), (error) => {
    assert.ok(error instanceof ConnectionFailedError);
    assert.equal(error.key, "k");
    assert.equal(error.cause, LOST);
    return true;
  });
});

test("a POST that takes no key is repeated only if it was refused with 429", async () => {
  const listener = { events: ["*" as const] };
  for (const fault of [problem(500), problem(503), LOST]) {
    const server = new Server(fault);
    await assert.rejects(server.client().createHookListener(listener));
    assert.deepEqual(server.keys(), [null]);
  }
  const server = new Server(problem(429), good({ id: "hook_1" }, 201));
  await server.client().createHookListener(listener);
  assert.equal(server.asked.length, 2);
});

test("what may be repeated by its nature is", async () => {
  const calls: ((api: Posthaste) => Promise<unknown>)[] = [
    (api) => api.getJob("j1"),
    (api) => api.deleteSchedule("j1"),
    (api) => api.putSuppression("a@example.org"),
    (api) => api.changeCampaign("c1", { name: "n" }),
  ];
  for (const call of calls) {
    const server = new Server(LOST, problem(503), good({}));
    await call(server.client());
    assert.deepEqual(server.keys(), [null, null, null]);
  }
});

test("a repeated delete that finds nothing has succeeded", async () => {
  const gone = problem(404, "not_found");
  for (const fault of [LOST, CUT, problem(500), problem(503)]) {
    assert.deepEqual(await new Server(fault, problem(429), gone).client().deleteHook("hook_1"), { deleted: true });
  }
  const sender = { domain: "shop.example.com", removed: true };
  assert.deepEqual(await new Server(LOST, gone).client().deleteSender("shop.example.com"), sender);
});

test("a delete that was not taken before finds nothing", async () => {
  const gone = problem(404, "not_found");
  await assert.rejects(new Server(gone).client().deleteHook("hook_1"), NotFoundError);
  await assert.rejects(new Server(problem(429), gone).client().deleteHook("hook_1"), NotFoundError);
  await assert.rejects(new Server(LOST, problem(404)).client().deleteHook("hook_1"), NotFoundError); // not by the API
  await assert.rejects(new Server(LOST, gone).client().deleteSchedule("j1"), NotFoundError); // a repeat finds it again
});

test("errors have a class by code and status", () => {
  const kinds: [number, string, typeof ApiError][] = [
    [400, "malformed_json", InvalidRequestError],
    [401, "unauthorized", AuthenticationError],
    [403, "missing_scope", ForbiddenError],
    [404, "not_found", NotFoundError],
    [409, "job_in_progress", ConflictError],
    [422, "from_not_allowed", InvalidRequestError],
    [422, "idempotency_mismatch", IdempotencyMismatchError],
    [429, "rate_limited", RateLimitedError],
    [500, "internal_error", ServerError],
    [418, "", ApiError],
  ];
  const fields = [{ field: "to", message: "is empty" }];
  for (const [status, code, kind] of kinds) {
    const found = apiError(status, { code, detail: "No.", errors: fields, request_id: "r1" }, 3);
    assert.equal(found.constructor, kind);
    assert.equal(found.name, kind.name);
    assert.deepEqual([found.status, found.code, found.fields, found.requestId, found.retryAfter], [status, code, fields, "r1", 3]);
    assert.match(found.message, /to: is empty/);
  }
});

test("a refusal is not repeated, and what is no answer of Posthaste's is an error", async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 415, 422]) {
    const server = new Server(problem(status));
    await assert.rejects(server.client().getJob("j1"), ApiError);
    assert.equal(server.asked.length, 1);
  }
  for (const answer of [() => new Response("<html>"), () => new Response(null, { status: 302 }), good([1])]) {
    await assert.rejects(new Server(answer).client().getJob("j1"), /not Posthaste's/);
  }
});

test("every error names its request", async () => {
  const headers = { "X-Request-Id": "r7" };
  const answers = [
    () => Response.json({ code: "validation_failed" }, { status: 422, headers }),
    () => new Response("<html>", { status: 404, headers }),
    () => new Response("<html>", { status: 200, headers }),
    () => Response.json({ code: "internal_error", request_id: "r7" }, { status: 500 }),
  ];
  for (const answer of answers) {
    const refused = new Server(answer).client().getJob("j1");
    await assert.rejects(refused, (error: ApiError) => error.requestId === "r7");
  }
});

test("pages are fetched by their cursors as they are needed", async () => {
  const server = new Server(
    good({ items: [{ n: 1 }, { n: 2 }], next_cursor: "c1" }),
    good({ items: [], next_cursor: "c2" }),
    good({ items: [{ n: 3 }], next_cursor: null }),
  );
  const found = server.client().eachBatchLogs("b1", { state: ["failed", "unknown"], limit: 2 });
  assert.equal(server.asked.length, 0);
  const first = await found.next();
  assert.deepEqual(first.value, { n: 1 });
  assert.equal(server.asked.length, 1);
  const rest: unknown[] = [];
  for await (const line of found) rest.push(line);
  assert.deepEqual(rest, [{ n: 2 }, { n: 3 }]);
  const cursors = server.asked.map(({ url }) => new URL(url).searchParams);
  assert.deepEqual(cursors.map((query) => query.get("cursor")), [null, "c1", "c2"]);
  assert.deepEqual(new Set(cursors.map((query) => query.get("state"))), new Set(["failed,unknown"]));
});

async function updates(server: Server): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const update of server.client().eachMessageUpdates("a-z")) found.push(update);
  return found;
}

test("the rest of an array is fetched by its link", async () => {
  const server = new Server(
    good([{ n: 1 }, { n: 2 }], 200, { Link: '<b-z>; rel="next"' }),
    good([], 200, { Link: '<a-b>; rel="prev", </stage/message_updates/c-z?x=1>; rel="next"' }),
    good([{ n: 3 }]),
  );
  assert.deepEqual(await updates(server), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const asked = server.asked.map(({ url }) => url.replace(`${URL_}/message_updates/`, ""));
  assert.deepEqual(asked, ["a-z", "b-z", "c-z?x=1"]);
  assert.deepEqual(await server.client().listMessageUpdates("a-z"), [{ n: 3 }]);
});

test("pages that come again are an error", async () => {
  for (const cursors of ["a", "ab", "abc"]) {
    const pages = [...cursors, ...cursors].map((name) => good({ items: [{ batch_id: name }], next_cursor: name }));
    const server = new Server(...pages);
    const found: unknown[] = [];
    const all = async (): Promise<void> => {
      for await (const batch of server.client().eachBatches()) found.push(batch.batch_id);
    };
    await assert.rejects(all(), /does not end/);
    assert.deepEqual(found, [...cursors, cursors[0]]);
  }
  const itself = new Server(good([], 200, { Link: '<a-z>; rel="next"' }));
  await assert.rejects(updates(itself), (error) => error instanceof ApiError && /does not end/.test(error.message));
  assert.equal(itself.asked.length, 1);
});

test("an export is being made or ready", async () => {
  const made = { state: "ready", url: "https://bucket.example/x", expires_at: "…", rows: 2, as_of: "…" };
  const api = new Server(good({ state: "preparing", progress: 0.5, as_of: "…" }, 202), good(made)).client();
  const progress: number[] = [];
  let found = await api.exportBatch("b1");
  for (; found.state === "preparing"; found = await api.exportBatch("b1")) progress.push(found.progress);
  assert.deepEqual([progress, found.url, found.rows], [[0.5], "https://bucket.example/x", 2]);
});

test("a link that leads elsewhere gets no key, and an object is no array", async () => {
  for (const link of ["https://elsewhere.example/stage/message_updates/b", "//elsewhere.example/b", "../jobs/b", "/b", "http:b:"]) {
    const server = new Server(good([], 200, { Link: `<${link}>; rel="next"` }));
    await assert.rejects(updates(server), /not Posthaste's/);
    assert.equal(server.asked.length, 1);
  }
  await assert.rejects(new Server(good({ items: [] })).client().listMessageUpdates("a-z"), /not Posthaste's/);
});

test("an id stays one segment of the path", async () => {
  const server = new Server(good({}));
  await server.client().getSuppression("a/b?c@example.org");
  assert.equal(server.asked[0]?.url, `${URL_}/suppressions/a%2Fb%3Fc%40example.org`);
  for (const name of ["", ".", ".."]) assert.throws(() => server.client().getJob(name), /not an id/);
});

test("text and bytes go as they are", async () => {
  const server = new Server(good({}, 202));
  await server.client().putRecipients("c1", "recipient\na@example.org\n", { strict: true });
  assert.equal(server.asked[0]?.headers.get("Content-Type"), "text/csv");
  assert.equal(server.asked[0]?.init.body, "recipient\na@example.org\n");
  assert.equal(server.asked[0]?.url, `${URL_}/campaigns/c1/recipients?strict=true`);
  await server.client().putRecipients("c1", { recipients: [{ recipient: "a@example.org" }] });
  assert.equal(server.asked[1]?.headers.get("Content-Type"), "application/json");
});

test("waiting ends with the job or with its time", async () => {
  const server = new Server(good({ state: "SENDING" }), good({ state: "LOGGED" }));
  assert.deepEqual(await server.client().wait("j1"), { state: "LOGGED" });
  assert.deepEqual(server.slept, [2]);
  await assert.rejects(new Server(good({ state: "SENDING" })).client().wait("j1", { timeout: 4 }), /still SENDING/);
});

test("the time of slow answers counts as waiting", async (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const slow: Step = () => {
    now += 30_000;
    return Response.json({ state: "SENDING" });
  };
  const server = new Server(slow);
  await assert.rejects(server.client().wait("j1", { timeout: 60 }), /still SENDING/);
  assert.equal(server.asked.length, 2);
});

test("a list is uploaded and completed without the key", async () => {
  const made = { upload_id: "u1", url: "https://bucket.example/x?sig=1", method: "PUT", headers: { "X-A": "b" } };
  const taken = (): Response => new Response(null, { headers: { ETag: '"e1"' } });
  const server = new Server(good(made, 201), taken, good({ state: "reading" }, 202));
  await server.client().uploadList("c1", "recipient\n");
  const [, put, done] = server.asked;
  assert.equal(put?.headers.get("Authorization"), null);
  assert.equal(put?.headers.get("X-A"), "b");
  assert.deepEqual(JSON.parse(String(done?.init.body)), { etag: '"e1"' });
  const refused = new Server(good(made, 201), () => new Response(null, { status: 403 }));
  await assert.rejects(refused.client().uploadList("c1", "x"), /bucket refused/);
  await assert.rejects(new Server(good(made, 201), LOST).client().uploadList("c1", "x"), ConnectionFailedError);
});

test("an abort ends an upload", async () => {
  const made = { upload_id: "u1", url: "https://bucket.example/x", method: "PUT", headers: {} };
  const ended = new AbortController();
  const reason = new Error("enough");
  const put: Step = () => {
    ended.abort(reason);
    throw reason;
  };
  const call = new Server(good(made, 201), put).client().uploadList("c1", "x", { signal: ended.signal });
  await assert.rejects(call, reason);
});

test("an abort ends a call, and its repeats", async () => {
  const ended = new AbortController();
  const fetchNever = (_url: unknown, init?: RequestInit): Promise<Response> =>
    new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  const api = new Posthaste({ url: URL_, key: KEY, fetch: fetchNever as typeof fetch });
  const call = api.getJob("j1", { signal: ended.signal });
  ended.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  const waiting = new AbortController();
  const busy = new Posthaste({ url: URL_, key: KEY, fetch: new Server(problem(429, "", { "Retry-After": "60" })).fetch });
  const repeated = busy.getJob("j1", { signal: waiting.signal });
  setImmediate(() => waiting.abort(new Error("enough")));
  await assert.rejects(repeated, /enough/);
});

test("fetch is called as workers and browsers want it: not as a method of the client", async (context) => {
  const made = { upload_id: "u1", url: "https://bucket.example/x", method: "PUT", headers: {} };
  const strict = (server: Server) =>
    function (this: unknown, ...words: Parameters<typeof fetch>): Promise<Response> {
      if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
      return server.fetch(...words);
    };
  const given = new Server(good({}), good(made, 201), () => new Response(null), good({ state: "reading" }, 202));
  const api = new Posthaste({ url: URL_, key: KEY, fetch: strict(given), retries: { tries: 1 } });
  await api.getJob("j1");
  await api.uploadList("c1", "recipient\n");
  assert.equal(given.asked.length, 4);
  const platform = new Server(good({}));
  context.mock.method(globalThis, "fetch", strict(platform));
  await new Posthaste({ url: URL_, key: KEY, retries: { tries: 1 } }).getJob("j1");
  assert.equal(platform.asked.length, 1);
});

test("address and key come from the environment together", async () => {
  const server = new Server(good({}));
  process.env["POSTHASTE_URL"] = "https://other.example/";
  process.env["POSTHASTE_API_KEY"] = "ph_live_x";
  await new Posthaste({ fetch: server.fetch }).getJob("j1");
  assert.equal(server.asked[0]?.url, "https://other.example/jobs/j1");
  assert.equal(server.asked[0]?.headers.get("Authorization"), "Bearer ph_live_x");
  assert.throws(() => new Posthaste({ key: KEY }), /no address or key/);
  assert.throws(() => new Posthaste({ url: URL_ }), /no address or key/);
  delete process.env["POSTHASTE_API_KEY"];
  assert.throws(() => new Posthaste(), /no address or key/);
});

test("an address that is wrong or unencrypted gets no key; this machine may be", async () => {
  for (const url of ["http://api.example.com", "api.example.com", "ftp://x", "https://a:b@x", "https://x/?a", "http://127.0.0.1.evil.example"]) {
    assert.throws(() => new Posthaste({ url, key: KEY }), /https:\/\//);
  }
  const server = new Server(good({}));
  const notifier = { name: "ward", password: "pw" };
  await new Posthaste({ url: "http://127.0.0.1:9/x/", notifier, fetch: server.fetch }).getMessage("m1");
  assert.equal(server.asked[0]?.headers.get("Authorization"), "Basic d2FyZDpwdw==");
  assert.equal(server.asked[0]?.url, "http://127.0.0.1:9/x/messages/m1");
});

test("Retry-After is seconds or a date", () => {
  const after = (value: string): number | undefined => retryAfter(new Headers({ "Retry-After": value }), 990_000);
  assert.equal(after("12"), 12);
  assert.equal(after(new Date(1_000_000).toUTCString()), 10);
  assert.equal(after(new Date(900_000).toUTCString()), 0);
  assert.equal(after("soon"), undefined);
  assert.equal(retryAfter(new Headers(), 0), undefined);
});
