/** Server-sent events of a running server. */

import { text } from "node:stream/consumers";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { type Answer, type Ask, answerOf, type Client, openAnswer, piecesOf } from "./client.ts";

/** The server does not send events: its answer says why. */
export class NoEvents extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`the server answered ${answer.status}`);
    this.answer = answer;
  }
}

/** Events as they come, some at a time. Throws ConnectionProblem, also where the connection breaks, and NoEvents. */
export async function* eventsOf(
  client: Client,
  request: Ask,
): AsyncGenerator<EventSourceMessage[], void, undefined> {
  const response = await openAnswer(client, request);
  if (response.statusCode !== 200) throw new NoEvents(answerOf(response, await text(response)));
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(client, response)) {
    parser.feed(decoder.decode(piece, { stream: true }));
    if (events.length > 0) yield events;
    events = [];
  }
}
