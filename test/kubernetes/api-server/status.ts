/** Refusals as `Status` objects, with the reasons and texts of a real API server. */
import type { Fields } from "./objects.ts";

/** The resource that a refusal is about. */
export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly name: string;
}

/** What is wrong with one field; `reason` is a cause type such as `FieldValueRequired`. */
export interface FieldProblem {
  readonly path: string;
  readonly reason: string;
  readonly message: string;
}

/** A refusal of a request: an HTTP status with a `Status` object as its body. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Fields | undefined;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfter: number | undefined;

  constructor(code: number, reason: string, message: string, details?: Fields, retryAfter?: number) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.retryAfter = retryAfter;
  }

  toStatus(): Fields {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** `webhooks.svc.example`: a resource with its group. */
export function qualify(plural: string, group: string): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function detailsOf(subject: Subject, causes?: readonly Fields[]): Fields {
  return {
    name: subject.name,
    ...(subject.group === "" ? {} : { group: subject.group }),
    kind: subject.plural,
    ...(causes === undefined ? {} : { causes }),
  };
}

export function notFound(subject: Subject): StatusError {
  const text = `${qualify(subject.plural, subject.group)} "${subject.name}" not found`;
  return new StatusError(404, "NotFound", text, detailsOf(subject));
}

/** The answer for a path that nothing is served under. */
export function noSuchPath(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(subject: Subject): StatusError {
  const text = `${qualify(subject.plural, subject.group)} "${subject.name}" already exists`;
  return new StatusError(409, "AlreadyExists", text, detailsOf(subject));
}

export function conflict(subject: Subject, why: string): StatusError {
  const on = `${qualify(subject.plural, subject.group)} "${subject.name}"`;
  return new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${on}: ${why}`,
    detailsOf(subject),
  );
}

/** The conflict of an update whose resource version is not the stored one. */
export function staleObject(subject: Subject): StatusError {
  const advice = "please apply your changes to the latest version and try again";
  return conflict(subject, `the object has been modified; ${advice}`);
}

export function invalid(subject: Subject, problems: readonly FieldProblem[]): StatusError {
  const texts = problems.map(({ path, message }) => `${path}: ${message}`);
  const list = texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`;
  const causes = problems.map(({ path, reason, message }) => ({ reason, message, field: path }));
  const of = `${qualify(subject.kind, subject.group)} "${subject.name}"`;
  const details = { ...detailsOf(subject, causes), kind: subject.kind };
  return new StatusError(422, "Invalid", `${of} is invalid: ${list}`, details);
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

export function unauthorized(): StatusError {
  return new StatusError(401, "Unauthorized", "Unauthorized");
}

export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

export function methodNotAllowed(): StatusError {
  const text = "the server does not allow this method on the requested resource";
  return new StatusError(405, "MethodNotAllowed", text, {});
}

export function unsupportedMediaType(type: string, accepted: readonly string[]): StatusError {
  const text = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new StatusError(415, "UnsupportedMediaType", type === "" ? `no media type: ${text}` : text);
}

export function tooManyRequests(retryAfter: number): StatusError {
  const text = "Too many requests, please try again later.";
  return new StatusError(429, "TooManyRequests", text, { retryAfterSeconds: retryAfter }, retryAfter);
}

export function internalError(message: string): StatusError {
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`);
}
