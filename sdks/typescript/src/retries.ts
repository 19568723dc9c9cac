// When a call is made again.

/**
 * How often and after how long a call is made again.
 *
 * A call that was refused with 429 is always repeated. One whose answer was lost, or that failed with 5xx, is repeated
 * only if that does no harm: it only reads, it may be repeated by its nature, or it has an idempotency key, which stays
 * the same.
 */
export interface RetryPolicy {
  /** How often a call is made at most. */
  tries: number;
  /** Seconds before the first repeat; each further one is twice as long. */
  first: number;
  /** Seconds of Retry-After that a call waits; with more it fails at once. */
  longest: number;
  /** Returns a number from 0 to 1. */
  jitter: () => number;
}

export const RETRIES: RetryPolicy = { tries: 6, first: 0.5, longest: 120, jitter: Math.random };

export const BUSY = 429;
const FAILED = new Set([500, 502, 503, 504]);

/** What became of a try: the status of its answer, and the seconds that it asks for. */
export interface Outcome {
  status?: number | undefined;
  wait?: number | undefined;
  /** Whether a repeat does no harm, whatever became of this try. */
  repeatable: boolean;
}

/** Return the seconds before the next try, undefined if there is to be none; `made`: tries so far. */
export function pause(policy: RetryPolicy, made: number, { status, wait, repeatable }: Outcome): number | undefined {
  const again = status === BUSY || (repeatable && (status === undefined || FAILED.has(status)));
  if (made >= policy.tries || !again) return undefined;
  if (wait !== undefined) return wait <= policy.longest ? wait : undefined;
  return policy.first * 2 ** (made - 1) * (0.5 + policy.jitter() / 2);
}

/** Return Retry-After in seconds, undefined if it is absent or nonsense; `now`: Unix milliseconds. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text);
  const date = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}
