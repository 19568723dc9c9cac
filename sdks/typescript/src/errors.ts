// What a call can throw.
import type { ErrorCode } from "./generated/codes.ts";

/** An invalid field of a request. */
export interface InvalidField {
  field: string;
  message: string;
}

/** The problem details of RFC 9457, as far as an answer has them. */
export interface Problem {
  code?: string;
  detail?: string;
  title?: string;
  errors?: InvalidField[] | null;
  request_id?: string | null;
}

/** Anything that this package throws about a call or a webhook. */
export class PosthasteError extends Error {
  override name = "PosthasteError";
}

/** No answer came. A call that has an idempotency key can be made again under the same key. */
export class ConnectionFailedError extends PosthasteError {
  override name = "ConnectionFailedError";
  /** The call's idempotency key, if it takes one. */
  readonly key: string | undefined;

  constructor(text: string, key: string | undefined, cause: unknown) {
    super(text, { cause });
    this.key = key;
  }
}

/** The request is no webhook of this endpoint, or it is too old. Answer it with 401. */
export class WebhookError extends PosthasteError {
  override name = "WebhookError";
}

/** The API refused a call. */
export class ApiError extends PosthasteError {
  override name = "ApiError";
  /** The status of HTTP. */
  readonly status: number;
  /** The problem's stable code; empty if the answer is not the API's. */
  readonly code: ErrorCode | "";
  /** The problem, for people. */
  readonly detail: string;
  /** The invalid fields. */
  readonly fields: InvalidField[];
  /** What to name when you ask about the call, as the answer has it. */
  readonly requestId: string | undefined;
  /** Seconds to wait, if the answer says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, problem: Problem, retryAfter?: number) {
    const detail = problem.detail ?? problem.title ?? `HTTP ${status}`;
    const fields = problem.errors ?? [];
    const wrong = fields.map(({ field, message }) => `; ${field}: ${message}`).join("");
    super(`${detail} (${problem.code ?? status})${wrong}`);
    this.status = status;
    this.code = (problem.code ?? "") as ErrorCode | "";
    this.detail = detail;
    this.fields = fields;
    this.requestId = problem.request_id ?? undefined;
    this.retryAfter = retryAfter;
  }
}

/** 400, 413, 415, 422: the request is wrong; `fields` has the invalid fields. */
export class InvalidRequestError extends ApiError {
  override name = "InvalidRequestError";
}
/** Another request used this idempotency key. */
export class IdempotencyMismatchError extends InvalidRequestError {
  override name = "IdempotencyMismatchError";
}
/** 401: the API key is not valid. */
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}
/** 403: the API key lacks a scope, or the account is suspended. */
export class ForbiddenError extends ApiError {
  override name = "ForbiddenError";
}
/** 404: there is no such thing in this account. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}
/** 409: the thing is not in a state that allows this; `retryAfter` says when it may be. */
export class ConflictError extends ApiError {
  override name = "ConflictError";
}
/** 429: too many requests, for longer than the client waits. */
export class RateLimitedError extends ApiError {
  override name = "RateLimitedError";
}
/** 5xx: the server failed. */
export class ServerError extends ApiError {
  override name = "ServerError";
}

const BY_CODE: Record<string, typeof ApiError> = {
  idempotency_mismatch: IdempotencyMismatchError,
  rate_limited: RateLimitedError,
  unauthorized: AuthenticationError,
};
const BY_STATUS: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitedError,
};

/** Return the error of an answer: of the problem's code, else of the status. */
export function apiError(status: number, problem: Problem, retryAfter?: number): ApiError {
  const kind = BY_CODE[problem.code ?? ""] ?? BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError);
  return new kind(status, problem, retryAfter);
}
