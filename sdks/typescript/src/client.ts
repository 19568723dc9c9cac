// The client.
import type { CallOptions } from "./calls.ts";
import { ApiError } from "./errors.ts";
import { Operations, type Schemas } from "./generated/operations.ts";

const POLL = 2;
const ENDED = "LOGGED";

/** Options of `wait`. */
export interface WaitOptions extends CallOptions {
  /** Seconds after which it throws; by default never. */
  timeout?: number;
}

/** A client of one API. Every method makes one call and resolves to its answer's document. */
export class Posthaste extends Operations {
  /** Wait until a job has ended: each message has its outcome, or its provider has yet to report it. */
  async wait(jobId: string, options: WaitOptions = {}): Promise<Schemas["JobView"]> {
    for (let spent = 0; ; spent += POLL) {
      const begun = performance.now();
      const job = await this.getJob(jobId, options);
      if (job.state === ENDED) return job;
      spent += (performance.now() - begun) / 1000;
      if (options.timeout !== undefined && spent >= options.timeout) {
        throw new DOMException(`job ${jobId} is still ${job.state}`, "TimeoutError");
      }
      await this.pauseFor(POLL, options.signal);
    }
  }

  /** Upload a list (CSV, UTF-8) straight to the bucket, and have it read. */
  async uploadList(
    campaignId: string,
    content: string | Blob | Uint8Array<ArrayBuffer>,
    options: CallOptions = {},
  ): Promise<Schemas["UploadView"]> {
    const size = new Blob([content]).size;
    const made = await this.createUpload(campaignId, { size }, options);
    const init: RequestInit = { method: made.method, headers: made.headers as Record<string, string>, body: content };
    const answer = await this.transfer(made.url, options.signal ? { ...init, signal: options.signal } : init);
    if (!answer.ok) {
      throw new ApiError(answer.status, { detail: "the bucket refused the file: ask for a new upload" });
    }
    const etag = answer.headers.get("ETag");
    return this.completeUpload(campaignId, made.upload_id, etag ? { etag } : {}, options);
  }
}
