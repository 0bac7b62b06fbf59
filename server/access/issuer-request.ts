/** Requests to the identity provider, and the bounded reading of what it answers. */

import { parseJson } from "../text/json-text.ts";
import { readResponseText } from "../text/response-text.ts";
import { issuerAnswerBytesMax, issuerAnswerMsMax } from "./limits.ts";

/** An answer of the identity provider. */
interface IssuerAnswer {
  status: number;
  value: Record<string, unknown>;
}

/**
 * Sends a request and reads the JSON object that is answered, whatever the status. Rejects with an Error that names the
 * address and holds nothing of what was sent.
 */
export async function askIssuer(
  address: string,
  { answerMsMax = issuerAnswerMsMax, ...init }: RequestInit & { answerMsMax?: number | undefined },
): Promise<IssuerAnswer> {
  const response = await fetch(address, {
    ...init,
    redirect: "error",
    headers: { Accept: "application/json", ...(init.headers as Record<string, string> | undefined) },
    signal: AbortSignal.timeout(answerMsMax),
  });
  const tooLong = `${address} has more than ${issuerAnswerBytesMax} bytes`;
  const text = await readResponseText(response, issuerAnswerBytesMax, tooLong);
  const value = parseJson(text);
  if (typeof value === "object" && value !== null)
    return { status: response.status, value: value as Record<string, unknown> };
  if (response.status !== 200) throw new Error(`${address} answered ${response.status}`);
  throw new Error(`${address} is no JSON object`);
}

/** Reads a JSON object. Rejects with an Error where the status is not 200. */
export async function readIssuer(
  address: string,
  init: RequestInit & { answerMsMax?: number | undefined },
): Promise<Record<string, unknown>> {
  const { status, value } = await askIssuer(address, init);
  if (status !== 200) throw new Error(`${address} answered ${status}`);
  return value;
}

/** True for HTTPS, which nobody on the way can change; HTTP only where the issuer itself uses it. */
export function isSafe(address: string, issuer: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
}

/** The message of fetch is only "fetch failed"; its cause holds the reason. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message} (${cause.message || cause.name})` : message;
}
