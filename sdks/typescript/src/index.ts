// A typed client of Posthaste: mail, texts and calls, each message once.
export type { CallOptions, ClientOptions, KeyedOptions } from "./calls.ts";
export { Posthaste, type WaitOptions } from "./client.ts";
export * from "./errors.ts";
export type { ErrorCode } from "./generated/codes.ts";
export type { Schemas } from "./generated/operations.ts";
export { VERSION } from "./generated/version.ts";
export { RETRIES, type RetryPolicy } from "./retries.ts";
export { type HeadersLike, Webhook, type WebhookEvent, type WebhookOptions } from "./webhooks.ts";
