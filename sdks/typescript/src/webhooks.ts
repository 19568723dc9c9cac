// Webhooks of Posthaste, which follow Standard Webhooks: checked before they are believed.
import { WebhookError } from "./errors.ts";

const PREFIX = "whsec_";
const TOLERANCE = 300;

/** What happened. The same event can come again: remember the ids that you have worked on. */
export interface WebhookEvent {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Headers of a request, whatever the framework: of `fetch`, of Node, or an object. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/** Options of a webhook. */
export interface WebhookOptions {
  /** Seconds that a request may be old, or ahead. */
  tolerance?: number;
  /** Returns Unix milliseconds. */
  now?: () => number;
}

/** Checks the requests of one endpoint, by its secret `whsec_…`. */
export class Webhook {
  readonly #secret: Uint8Array<ArrayBuffer>;
  readonly #tolerance: number;
  readonly #now: () => number;

  constructor(secret: string, options: WebhookOptions = {}) {
    const found = decoded(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
    if (!found?.length) throw new TypeError("this is not an endpoint's secret: it is `whsec_` and base64");
    this.#secret = found;
    this.#tolerance = options.tolerance ?? TOLERANCE;
    this.#now = options.now ?? Date.now;
  }

  /** Check a request and return its JSON; `body`: as it came, not parsed and written again. */
  async verify(body: string | Uint8Array, headers: HeadersLike): Promise<unknown> {
    const [id, at, signatures] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
    if (!id || !at || !signatures) throw new WebhookError("the request has no signature");
    if (!/^\d+$/.test(at) || Math.abs(this.#now() / 1000 - Number(at)) > this.#tolerance) {
      throw new WebhookError("the request is too old, or the clocks differ");
    }
    const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const head = new TextEncoder().encode(`${id}.${at}.`);
    const signed = new Uint8Array(head.length + raw.length);
    signed.set(head);
    signed.set(raw, head.length);
    if (!(await this.#signed(signed, signatures))) {
      throw new WebhookError("the signature is not of this endpoint's secret");
    }
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    } catch {
      throw new WebhookError("the request is not JSON");
    }
  }

  /** Check a request and return its events: one, or those of a batch. */
  async events(body: string | Uint8Array, headers: HeadersLike): Promise<WebhookEvent[]> {
    const found = await this.verify(body, headers);
    if (!isEnvelope(found)) throw new WebhookError("the request is no event");
    const { type, timestamp, data } = found;
    if (Array.isArray(data)) return data;
    return [{ id: header(headers, "webhook-id") ?? "", type, timestamp, data }];
  }

  /** Whether one of the signatures is of this secret. The platform compares them, in constant time. */
  async #signed(signed: Uint8Array<ArrayBuffer>, signatures: string): Promise<boolean> {
    const kind = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", this.#secret, kind, false, ["verify"]);
    for (const each of signatures.split(/\s+/)) {
      const signature = each.startsWith("v1,") ? decoded(each.slice(3)) : undefined;
      if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) return true;
    }
    return false;
  }
}

/** What a request carries: an event without its id, or a batch of events. */
interface Envelope {
  type: string;
  timestamp: string;
  data: Record<string, unknown> | WebhookEvent[];
}

function isEnvelope(found: unknown): found is Envelope {
  return typeof found === "object" && found !== null && ["type", "timestamp", "data"].every((name) => name in found);
}

function header(headers: HeadersLike, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
