// How a call is made: its request, its repeats, its answer.
import { ApiError, apiError, ConnectionFailedError, NotFoundError, type Problem } from "./errors.ts";
import { VERSION } from "./generated/version.ts";
import { BUSY, pause, RETRIES, type RetryPolicy, retryAfter } from "./retries.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, and its repeats. */
  signal?: AbortSignal;
}

/** Options of a call that makes something. */
export interface KeyedOptions extends CallOptions {
  /** A name of your own for what happened, so that a restart sends nothing twice; by default a random one. */
  idempotencyKey?: string;
}

/** How a client is made. Without address and key, it takes POSTHASTE_URL and POSTHASTE_API_KEY of the environment. */
export interface ClientOptions {
  /** The API's address. */
  url?: string;
  /** The API key. */
  key?: string;
  /** A notifier's name and password, in place of a key. */
  notifier?: { name: string; password: string };
  /** When a call is made again. */
  retries?: Partial<RetryPolicy>;
  /** Seconds that each try may take. */
  timeout?: number;
  /** Replaces the network, as in tests. */
  fetch?: typeof fetch;
  /** Waits for some seconds; rejects when the signal is aborted. */
  sleep?: (seconds: number, signal?: AbortSignal) => Promise<void>;
}

/** A call of one operation. */
export interface Call {
  method: string;
  path: string;
  query?: Record<string, unknown>;
  body?: unknown;
  media?: string;
  keyed?: boolean;
  /** Whether the answer is an array; the rest of a long one is behind a link. */
  array?: boolean;
  /** What a delete answers, if a repeated one no longer finds its thing. */
  gone?: Record<string, unknown>;
}

/** An answer that was read to its end. */
interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** What an answer brought: its document, the address that was asked, and the link to the rest. */
interface Found {
  document: unknown;
  address: string;
  link?: string | undefined;
}

interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}

const JSON_TYPE = "application/json";
const NEXT = /<([^>]*)>[^<]*;\s*rel="?next\b/;
const SAFE = new Set(["GET", "PUT", "PATCH", "DELETE"]);
const TIMEOUT = 35;
const ENDLESS = "the list does not end: its next page is one that was there before";
const STRANGE = "the answer is not Posthaste's: check the address";
/** The header that names the call in every answer. */
const REQUEST_ID = "X-Request-Id";

/** Return an id as one segment of a path. */
export function place(id: string): string {
  if (["", ".", ".."].includes(id)) throw new TypeError(`this is not an id: ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}

/** Makes calls. */
export class Caller {
  readonly #url: string;
  readonly #authorization: string;
  readonly #retries: RetryPolicy;
  readonly #timeout: number;
  readonly #fetch: typeof fetch;
  readonly #sleep: (seconds: number, signal?: AbortSignal) => Promise<void>;

  constructor(options: ClientOptions = {}) {
    const { url, authorization } = access(options);
    this.#url = url;
    this.#authorization = authorization;
    this.#retries = { ...RETRIES, ...options.retries };
    this.#timeout = options.timeout ?? TIMEOUT;
    const given = options.fetch ?? fetch;
    this.#fetch = (address, init) => given(address, init); // workers and browsers refuse it as a method of this object
    this.#sleep = options.sleep ?? sleep;
  }

  /** Make a call, and again where that does no harm; return the answer's document. */
  protected async call<T>(call: Call, options: KeyedOptions = {}): Promise<T> {
    return (await this.#found(call, options, this.#address(call))).document as T;
  }

  /** Make a call of an address; return what its answer brought. */
  async #found(call: Call, options: KeyedOptions, address: string): Promise<Found> {
    const headers = this.#headers(call, options);
    const body = bodyOf(call);
    const repeatable = call.keyed === true || SAFE.has(call.method);
    let taken = false;
    for (let made = 1; ; made++) {
      const found = await this.#once(address, { method: call.method, headers, body }, options.signal);
      const answer = "lost" in found ? undefined : found;
      const wait = answer && retryAfter(answer.headers, Date.now());
      const seconds = pause(this.#retries, made, { status: answer?.status, wait, repeatable });
      if (seconds === undefined) {
        if ("lost" in found) {
          throw new ConnectionFailedError("no answer", headers.get("Idempotency-Key") ?? undefined, found.lost);
        }
        const link = NEXT.exec(found.headers.get("Link") ?? "")?.[1];
        return { document: documentOf(call, found, taken), address, link };
      }
      taken ||= answer?.status !== BUSY;
      await this.#sleep(seconds, options.signal);
    }
  }

  /** Yield the items of all pages. */
  protected async *each<T>(call: Call, options: CallOptions = {}): AsyncGenerator<T> {
    let address: string | undefined = this.#address(call);
    const seen = new Set<string>();
    while (address !== undefined) {
      if (seen.has(address)) throw new ApiError(200, { detail: ENDLESS });
      seen.add(address);
      const found: Found = await this.#found(call, options, address);
      if (call.array) {
        yield* found.document as T[];
        address = behind(found);
      } else {
        const { items, next_cursor: cursor } = found.document as Page<T>;
        yield* items;
        address = cursor ? this.#address({ ...call, query: { ...call.query, cursor } }) : undefined;
      }
    }
  }

  /** Wait for some seconds. */
  protected pauseFor(seconds: number, signal?: AbortSignal): Promise<void> {
    return this.#sleep(seconds, signal);
  }

  /** Send a file to an address that the API gave. An abort by the caller is thrown. */
  protected async transfer(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(url, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ConnectionFailedError("no answer", undefined, error);
    }
  }

  #address(call: Call): string {
    return `${this.#url}${call.path}${queryOf(call.query)}`;
  }

  #headers(call: Call, options: KeyedOptions): Headers {
    const headers = new Headers({
      Authorization: this.#authorization,
      Accept: `${JSON_TYPE}, application/problem+json`,
      "User-Agent": `posthaste-typescript/${VERSION}`,
    });
    if (call.body !== undefined || call.method === "POST") {
      headers.set("Content-Type", isRaw(call.body) ? (call.media ?? JSON_TYPE) : JSON_TYPE);
    }
    if (call.keyed) headers.set("Idempotency-Key", options.idempotencyKey ?? crypto.randomUUID());
    return headers;
  }

  /** Make one try; return its answer, or why there is none. An abort by the caller is thrown. */
  async #once(address: string, init: RequestInit, signal?: AbortSignal): Promise<Answer | { lost: unknown }> {
    const limit = AbortSignal.timeout(this.#timeout * 1000);
    try {
      const found = await this.#fetch(address, {
        ...init,
        redirect: "manual",
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      return { status: found.status, headers: found.headers, text: await found.text() };
    } catch (error) {
      if (signal?.aborted) throw error;
      return { lost: error };
    }
  }
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

function bodyOf(call: Call): BodyInit | null {
  if (isRaw(call.body)) return call.body;
  if (call.body !== undefined) return JSON.stringify(call.body);
  return call.method === "POST" ? "{}" : null;
}

function queryOf(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}

/** Return the address of the rest of an array; an error if the key must not get there. */
function behind({ address, link }: Found): string | undefined {
  if (link === undefined) return undefined;
  const further = URL.canParse(link, address) ? new URL(link, address).href : "";
  if (!further.startsWith(new URL(".", address).href)) throw new ApiError(200, { detail: STRANGE });
  return further;
}

/** Return the document of a call's answer. A delete that finds nothing has succeeded if an earlier try was taken. */
function documentOf(call: Call, answer: Answer, taken: boolean): unknown {
  try {
    return read(answer, call.array === true);
  } catch (error) {
    if (taken && call.gone && error instanceof NotFoundError && error.code === "not_found") return call.gone;
    throw error;
  }
}

/** Return an answer's document, an array or an object; an error if it is a problem, or not the API's. */
function read(answer: Answer, array: boolean): unknown {
  let found: unknown;
  try {
    found = JSON.parse(answer.text);
  } catch {
    found = undefined;
  }
  const document = typeof found === "object" && found !== null && !Array.isArray(found) ? found : undefined;
  const wanted = array ? Array.isArray(found) : document !== undefined;
  if (answer.status >= 200 && answer.status < 300 && wanted) return found;
  const request_id = answer.headers.get(REQUEST_ID);
  const request = request_id === null ? {} : { request_id };
  if (answer.status < 400) throw new ApiError(answer.status, { detail: STRANGE, ...request });
  throw apiError(answer.status, { ...(document as Problem), ...request }, retryAfter(answer.headers, Date.now()));
}

function access(options: ClientOptions): { url: string; authorization: string } {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }; // browsers have none
  const env = process?.env ?? {};
  const none = options.url === undefined && options.key === undefined && options.notifier === undefined;
  const url = none ? env["POSTHASTE_URL"] : options.url;
  const key = none ? env["POSTHASTE_API_KEY"] : options.key;
  if (!url || !(key || options.notifier)) {
    throw new TypeError("no address or key: give both, or set POSTHASTE_URL and POSTHASTE_API_KEY");
  }
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  if (!parts || !["http:", "https:"].includes(parts.protocol) || parts.username || parts.search || parts.hash) {
    throw new TypeError("the address must look like https://api.example.com");
  }
  if (parts.protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(parts.hostname)) {
    throw new TypeError("the key would travel unencrypted: use https://");
  }
  const { notifier } = options;
  const login = notifier && btoa(`${notifier.name}:${notifier.password}`);
  return { url: url.replace(/\/+$/, ""), authorization: login ? `Basic ${login}` : `Bearer ${key}` };
}

function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) ended();
    else signal?.addEventListener("abort", ended, { once: true });
  });
}
