/** An answer that is not a success, thrown from anywhere below a route; the message is for the person who asked. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields that stand beside `error` in the answer. */
  readonly details: Readonly<Record<string, unknown>>;
  /** What the operator learns of it, where the caller should not. */
  readonly reason: string;

  constructor(
    status: number,
    message: string,
    more: { headers?: Record<string, string>; details?: Record<string, unknown>; reason?: string } = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.reason = more.reason ?? message;
    this.status = status;
    this.headers = more.headers ?? {};
    this.details = more.details ?? {};
  }
}

/** Refuses one who has not said who asks, or not so that it can be believed. */
export function unauthorized(message: string, reason?: string): Refusal {
  const headers = { "WWW-Authenticate": 'Bearer realm="svc"' };
  return new Refusal(401, message, { headers, ...(reason === undefined ? {} : { reason }) });
}

/** Refuses for now: the client may come again after so many seconds. */
export function tryLater(message: string, seconds: number): Refusal {
  return new Refusal(503, message, { headers: { "Retry-After": String(seconds) } });
}
