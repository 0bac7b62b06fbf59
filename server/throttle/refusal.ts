/** Refusals: answers that are not a success. */

/**
 * An error that is sent to the client with its status, thrown anywhere below a route. The message is for the client.
 */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What the audit log says, where the client should learn less; by default the message. */
  readonly reason: string;

  constructor(
    status: number,
    message: string,
    more: { headers?: Record<string, string>; reason?: string } = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.reason = more.reason ?? message;
    this.status = status;
    this.headers = more.headers ?? {};
  }
}

/** A Refusal 401 for a request without valid credentials; `reason` is for the operator alone. */
export function makeUnauthorized(message: string, reason?: string): Refusal {
  const headers = { "WWW-Authenticate": 'Bearer realm="svc"' };
  return new Refusal(401, message, { headers, ...(reason === undefined ? {} : { reason }) });
}

/** A Refusal 503, or 429 where the client is at fault: it may try again after so many seconds. */
export function tryLater(message: string, seconds: number, status: 429 | 503 = 503): Refusal {
  return new Refusal(status, message, { headers: { "Retry-After": String(seconds) } });
}
