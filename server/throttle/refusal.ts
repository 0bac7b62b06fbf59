/** Refusals: answers that are not a success. */

/** What a program is told of an error beside the sentence. */
export interface RefusalDetails {
  /** The path of the field that the sentence is about, such as `alert.name`. */
  readonly field?: string;
  /** Where in a query the mistake is. */
  readonly place?: {
    /** From 1. */
    readonly line: number;
    /** In code points, from 1. */
    readonly column: number;
    /** Offsets in UTF-16 units, `end` exclusive. */
    readonly start: number;
    readonly end: number;
  };
}

/**
 * An error that is sent to the client with its status, thrown anywhere below a route. The message is for the client.
 */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What the audit log says, where the client should learn less; by default the message. */
  readonly reason: string;
  readonly details: RefusalDetails;

  constructor(
    status: number,
    message: string,
    more: { headers?: Record<string, string>; reason?: string; details?: RefusalDetails } = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.reason = more.reason ?? message;
    this.status = status;
    this.headers = more.headers ?? {};
    this.details = more.details ?? {};
  }
}

/** A Refusal 400 that names the field, such as `alert.metadata.name`; `problem` goes on after it. */
export function makeFieldRefusal(field: string, problem: string): Refusal {
  return new Refusal(400, `${field} ${problem}`, { details: { field } });
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
