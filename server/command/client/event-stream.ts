/** Reads server-sent events from a running server. */

import { text } from "node:stream/consumers";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { type Answer, type ApiRequest, type Client, readPieces, sendRequest, toAnswer } from "./client.ts";

/** The server answered with an error instead of events. */
export class EventStreamRefused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`the server answered ${answer.status}`);
    this.answer = answer;
  }
}

/**
 * Yields events as they come, several at a time. Throws EventStreamRefused, and ConnectionProblem where the connection
 * cannot be made or breaks.
 */
export async function* readEvents(
  client: Client,
  request: ApiRequest,
): AsyncGenerator<EventSourceMessage[], void, undefined> {
  const response = await sendRequest(client, request);
  if (response.statusCode !== 200) throw new EventStreamRefused(toAnswer(response, await text(response)));
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for await (const piece of readPieces(client, response)) {
    parser.feed(decoder.decode(piece, { stream: true }));
    if (events.length > 0) yield events;
    events = [];
  }
}
