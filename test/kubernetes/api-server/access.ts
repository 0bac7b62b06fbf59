/** Who asks, and whether the caller may: bearer tokens that end, client certificates, and one function that allows. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { qualify, StatusError, unauthorized } from "./status.ts";

export interface Caller {
  readonly name: string;
  readonly groups: readonly string[];
}

/** What a caller wants to do to resources. */
export interface Attempt {
  readonly caller: Caller;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  /** "" for the whole cluster. */
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
}

/** Returns whether an attempt is allowed, as a role binding would say. */
export type Allow = (attempt: Attempt) => boolean;

interface Token {
  readonly caller: Caller;
  /** Milliseconds of the wall clock. */
  readonly expiresAt: number;
}

export class Access {
  allow: Allow;
  readonly #tokens = new Map<string, Token>();

  constructor(allow: Allow) {
    this.allow = allow;
  }

  addToken(token: string, caller: Caller, expiresAt = Number.POSITIVE_INFINITY): void {
    this.#tokens.set(token, { caller, expiresAt });
  }

  /** Requests with this token are answered 401 from now on. */
  expireToken(token: string): void {
    this.#tokens.delete(token);
  }

  /** Throws 401 for a request without a token or certificate that is known and has not ended. */
  authenticate(request: IncomingMessage, now: number): Caller {
    const [, bearer] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    const token = bearer === undefined ? undefined : this.#tokens.get(bearer);
    if (token !== undefined && token.expiresAt > now) return token.caller;
    if (bearer !== undefined) throw unauthorized();
    const socket = request.socket as Partial<TLSSocket>;
    if (socket.authorized !== true || socket.getPeerCertificate === undefined) throw unauthorized();
    const { CN, O: organisation } = socket.getPeerCertificate().subject as unknown as Record<
      string,
      string | string[]
    >;
    return { name: String(CN), groups: organisation === undefined ? [] : [organisation].flat() };
  }

  /** Throws 403 for an attempt that is not allowed. */
  authorize(attempt: Attempt): void {
    if (this.allow(attempt)) return;
    const { caller, verb, group, resource, subresource, namespace, name } = attempt;
    const path = subresource === undefined ? resource : `${resource}/${subresource}`;
    const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
    const subject = `${qualify(resource, group)}${name === "" ? "" : ` "${name}"`}`;
    const why = `User "${caller.name}" cannot ${verb} resource "${path}" in API group "${group}" ${where}`;
    const details = { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource };
    throw new StatusError(403, "Forbidden", `${subject} is forbidden: ${why}`, details);
  }
}
