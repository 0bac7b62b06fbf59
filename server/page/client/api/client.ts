/** Requests to the server that served the page. */

import { signal } from "@preact/signals";

/** Where in a query a mistake is: offsets in UTF-16 units. */
interface QueryPlace {
  line: number;
  column: number;
  start: number;
  end: number;
}

/** An answer that is no success, or none at all (status 0). */
export class ApiProblem extends Error {
  readonly status: number;
  readonly place: QueryPlace | undefined;
  /** The member of the body that is wrong, such as `alert.metadata.name`. */
  readonly field: string | undefined;

  constructor(
    message: string,
    status: number,
    { place, field }: { place?: QueryPlace; field?: string } = {},
  ) {
    super(message);
    this.status = status;
    this.place = place;
    this.field = field;
  }
}

/** True once the server has refused a request because nobody is signed in. */
export const needsSignIn = signal(false);

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
  /** The ETag of what is to be changed; the request fails with 412 where somebody else has changed it. */
  ifMatch?: string | undefined;
}

/** The JSON of an answer, and the ETag of the resource in it. */
export interface ServerAnswer<T> {
  answer: T;
  etag: string | undefined;
}

/** The JSON of an answer. Rejects with ApiProblem, or with an AbortError. */
export async function ask<T>(path: string, request: Ask = {}): Promise<T> {
  const { answer } = await askWithEtag<T>(path, request);
  return answer;
}

/** As `ask`, with the ETag. */
export async function askWithEtag<T>(
  path: string,
  { method, body, ifMatch, signal: aborting }: Ask = {},
): Promise<ServerAnswer<T>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        Accept: "application/json",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(ifMatch === undefined ? {} : { "If-Match": ifMatch }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(aborting === undefined ? {} : { signal: aborting }),
    });
    // The connection may still break while the answer is read.
    text = await response.text();
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiProblem("The server cannot be reached.", 0);
  }
  const answer = parse(text) as { error?: string; place?: QueryPlace; field?: string } | undefined;
  if (response.ok && answer !== undefined)
    return { answer: answer as T, etag: response.headers.get("etag") ?? undefined };
  if (response.status === 401) needsSignIn.value = true;
  throw new ApiProblem(answer?.error ?? `The server answered ${response.status}.`, response.status, answer);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
