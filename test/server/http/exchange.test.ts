/** A client that leaves at any point of any answer: nothing is written to it any more, and nothing is thrown. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Reply } from "../../../server/api/route.ts";
import { Exchange } from "../../../server/http/exchange.ts";
import { answerSendMsMax } from "../../../server/http/limits.ts";
import type { HttpResponse } from "../../../server/http/sockets.ts";

/** A response that throws, as the library's does, at every use after its end or its client's departure. */
class Client {
  /** Uses of the response so far. */
  uses = 0;
  /** The client leaves within this use of the response. */
  leavesAtUse = Number.POSITIVE_INFINITY;
  isOver = false;
  /** Written pieces find no room from this one on, until `makeRoom`. */
  fullAfter = Number.POSITIVE_INFINITY;
  onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;
  #onAborted: () => void = () => undefined;
  #onWritable: () => void = () => undefined;

  leave(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onAborted();
  }

  makeRoom(): void {
    if (!this.isOver) this.#onWritable();
  }

  response(): HttpResponse {
    const use = (): boolean => {
      if (this.isOver)
        throw new Error("uWS.HttpResponse must not be accessed after uWS.HttpResponse.onAborted");
      if (this.uses++ !== this.leavesAtUse) return this.uses <= this.fullAfter;
      // The library reports a client that leaves once the callback that uses the response has returned.
      queueMicrotask(() => this.leave());
      return false;
    };
    const end = () => {
      use();
      this.isOver = true;
    };
    return {
      onAborted: (left: () => void) => (this.#onAborted = left),
      onData: (read: (chunk: ArrayBuffer, isLast: boolean) => void) => {
        use();
        this.onData = read;
      },
      onWritable: (write: () => void) => {
        use();
        this.#onWritable = write;
      },
      cork: (write: () => void) => {
        use();
        write();
      },
      close: () => {
        use();
        this.leave();
      },
      tryEnd: (piece: Uint8Array, bytes: number) =>
        piece.length === bytes || piece.length === 1 ? end() : use(),
      ...{ writeStatus: use, writeHeader: use, write: use, pause: use, resume: use },
      ...{ end, endWithoutBody: end },
    } as unknown as HttpResponse;
  }
}

const piece = Buffer.alloc(1_000, "x");
const turn = () => new Promise((resolve) => setImmediate(resolve));

function* pieces() {
  for (let i = 0; i < 4; i++) yield piece;
}

/** As a tail does: it waits for each piece, and ends without one where its reader leaves. */
async function* awaited(signal: AbortSignal) {
  for (let i = 0; i < 4; i++) {
    await turn();
    if (signal.aborted) return;
    yield piece;
  }
}

/** Waits until its reader leaves. */
async function* idle(signal: AbortSignal) {
  yield piece;
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

async function* stuck() {
  yield piece;
  await new Promise((resolve) => setTimeout(resolve, 2 * answerSendMsMax));
}

const stream = {
  heartbeat: () => piece,
  heartbeatMs: 3_000,
  ending: new AbortController().signal,
};

const answers: Record<string, (signal: AbortSignal) => Reply> = {
  "a text": () => ({ status: 200, headers: { a: "b" }, body: "x" }),
  pieces: () => ({ status: 200, headers: { a: "b" }, body: pieces() }),
  "awaited pieces": (signal) => ({ status: 200, body: awaited(signal) }),
  "pieces with a limit between two": (signal) => ({ status: 200, body: awaited(signal), stallMsMax: 1_000 }),
  "pieces that do not come": () => ({ status: 200, body: stuck() }),
  "a stream": (signal) => ({ status: 200, body: awaited(signal), stream }),
  "a stream that waits": (signal) => ({ status: 200, body: idle(signal), stream }),
};

interface Scene {
  reply: (signal: AbortSignal) => Reply;
  leavesAtUse?: number;
  leavesAtTurn?: number;
  isFull: boolean;
  /** The client is still sending its body. */
  isSending: boolean;
}

const head = { method: "GET", path: "/", queryText: "", address: "7f000001", bytes: 0 };

/** Sends an answer. Returns how often the response was used and how many turns that took, and what was thrown. */
async function play({ reply, leavesAtUse, leavesAtTurn, isFull, isSending }: Scene) {
  const client = new Client();
  if (leavesAtUse !== undefined) client.leavesAtUse = leavesAtUse;
  if (isFull) client.fullAfter = 0;
  const headers = new Map(isSending ? [["content-length", "100000"]] : []);
  const exchange = new Exchange(client.response(), { ...head, headers });
  const thrown: unknown[] = [];
  let hasEnded = false;
  const sending = exchange
    .send(reply(exchange.signal), { withoutBody: false, closing: false })
    .catch((error: unknown) => thrown.push(error))
    .then(() => {
      hasEnded = true;
    });
  let turns = 0;
  for (; !hasEnded && turns < 60; turns++) {
    if (turns === leavesAtTurn) client.leave();
    // Timers that were forgotten find the client gone.
    if (turns > 8) vi.advanceTimersByTime(answerSendMsMax / 8);
    if (turns % 3 === 2) client.makeRoom();
    if (turns === 5) client.onData?.(new ArrayBuffer(10), false);
    await turn();
  }
  client.leave();
  vi.advanceTimersByTime(4 * answerSendMsMax);
  await sending;
  vi.advanceTimersByTime(4 * answerSendMsMax);
  return { uses: client.uses, turns, thrown };
}

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
);
afterEach(() => vi.useRealTimers());

describe.each(Object.entries(answers))("%s", (_name, reply) => {
  test.each([
    { isFull: false, isSending: false },
    { isFull: true, isSending: false },
    { isFull: false, isSending: true },
  ])("may be left at any point (%o)", async (scene) => {
    const whole = await play({ reply, ...scene });
    expect(whole.thrown).toEqual([]);
    for (let turns = 0; turns <= whole.turns; turns++) {
      expect((await play({ reply, ...scene, leavesAtTurn: turns })).thrown, `turn ${turns}`).toEqual([]);
    }
    for (let uses = 0; uses < whole.uses; uses++) {
      expect((await play({ reply, ...scene, leavesAtUse: uses })).thrown, `use ${uses}`).toEqual([]);
    }
  });
});
