/** Tails against a search over the same time: random queries and rows, writers at once, connections that break at random. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogRow } from "../../../engine/index.ts";
import { detectQueryKind, printQuery, QueryError, searchLogs } from "../../../query/index.ts";
import { arbitraryRow, arbitrarySelector, arbitraryTerms } from "../../query/arbitrary-search.ts";
import { type Running, startServer } from "../running.ts";
import { openTail, type TailEvent } from "./tail-reader.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
/** `SVC_SOAK=1` takes so many times as much. */
const times = process.env.SVC_SOAK === undefined ? 1 : 12;
const rounds = times;
const tailsEach = 10;
const writers = 3;
const batchesEach = 14;

const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, salt: number): T[] =>
  fc.sample(arbitrary, { seed: seed + salt, numRuns: count });

let server: Running;
beforeAll(async () => {
  server = await startServer({ scanThreads: 2 });
});
afterAll(() => server.stop());

/** One tail, over all of its connections. */
interface Followed {
  query: string;
  startTime: number | undefined;
  /** Arrival number after which it begins. */
  after: number;
  events: TailEvent[];
  connections: number;
}

describe(`tails (SVC_SEED=${seed})`, () => {
  test(
    "give every row that a search gives, none twice, in the order of arrival, however often they break",
    async () => {
      let broken = 0;
      let found = 0;
      for (let round = 0; round < rounds; round++) {
        const { store } = server.service;
        await write(round * 100 + 50);
        await store.seal();
        await write(round * 100 + 51);
        const queries = queriesOf(round);
        const writing = Array.from({ length: writers }, (_, writer) => write(round * 100 + writer));
        const stop = { at: Number.POSITIVE_INFINITY };
        const following = queries.map((query, i) =>
          follow(query, [undefined, 0, 6][i % 3], 100 * round + i, stop),
        );
        const sealing = [store.seal()];
        await Promise.all(writing);
        sealing.push(store.seal());
        stop.at = store.arrivalMax;
        const followed = await Promise.all(following);
        await Promise.all(sealing);
        for (const each of followed) {
          const wanted = await searched(each, stop.at);
          const got = each.events.filter(({ event }) => event === "message");
          expect(
            got.map(({ id, data }) => [Number(id), data]),
            context(each),
          ).toEqual(wanted);
          expect(
            each.events.filter(({ event }) => event === "missed"),
            context(each),
          ).toEqual([]);
          broken += each.connections - 1;
          found += got.length;
        }
      }
      expect(broken).toBeGreaterThanOrEqual(rounds);
      expect(found).toBeGreaterThan(rounds * 100);
    },
    times * 120_000,
  );
});

function context({ query, startTime, after, connections }: Followed): string {
  return `seed ${seed}: ${JSON.stringify({ query, startTime, after, connections })}`;
}

/** Two thirds are different, the rest ask for the same. */
function queriesOf(round: number): string[] {
  const trees = [
    ...sample(arbitrarySelector, tailsEach, 1_000 + round),
    ...sample(arbitraryTerms, tailsEach, 2_000 + round),
  ];
  const queries = trees
    .map(printQuery)
    .filter((query) => detectQueryKind(query) === "logs" && isRunnable(query));
  return ["", "", "", "logs | json", ...queries].slice(0, tailsEach);
}

function isRunnable(query: string): boolean {
  try {
    void planned(query);
    return true;
  } catch (error) {
    if (error instanceof QueryError) return false;
    throw error;
  }
}

function planned(query: string) {
  return searchLogs(
    {
      search: () => new Promise(() => undefined),
      readColumns: () => new Promise(() => undefined),
      attributeKeys: () => ({ keys: [], isWhole: false }),
    },
    { query, startMs: 0, endMs: 1, limit: 1 },
  );
}

async function write(salt: number): Promise<void> {
  const sizes = sample(fc.integer({ min: 1, max: 40 }), batchesEach, 3_000 + salt);
  for (const [batch, size] of sizes.entries()) {
    const rows: LogRow[] = sample(arbitraryRow, size, 4_000 + salt * 100 + batch);
    await server.service.store.append("logs", rows);
    if (batch % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Reads until the tail has come as far as `stop.at`, and breaks and takes up the connection again and again. */
async function follow(
  query: string,
  startTime: number | undefined,
  salt: number,
  stop: { at: number },
): Promise<Followed> {
  const breaks = sample(fc.integer({ min: 0, max: 60 }), 4, 5_000 + salt);
  const followed: Followed = { query, startTime, after: 0, events: [], connections: 0 };
  let lastEventId: string | undefined;
  for (;;) {
    const reader = await openTail(server, {
      query,
      ...(startTime === undefined ? {} : { startTime }),
      ...(lastEventId === undefined ? {} : { lastEventId }),
    });
    expect(reader.status, query).toBe(200);
    await reader.until(({ events }) => events.length > 0);
    if (followed.connections++ === 0) followed.after = Number(reader.events[0]!.id);
    const rowsMax = breaks.shift() ?? Number.POSITIVE_INFINITY;
    await waitFor(() => reader.events.length > rowsMax || reachedBy(reader.lastId()) >= stop.at);
    reader.leave();
    await reader.ended;
    followed.events.push(...reader.events);
    lastEventId = reader.lastId();
    if (reachedBy(lastEventId) >= stop.at) return followed;
  }
}

const reachedBy = (id: string | undefined) => Number(id ?? -1);

async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** What a search finds of the rows that a tail covers, with their arrival numbers, in the order of these. */
async function searched({ query, startTime = 0, after }: Followed, through: number): Promise<unknown[]> {
  const { rows } = await searchLogs(server.service.store, {
    query,
    startMs: startTime,
    endMs: 8_640_000_000_000_000,
    limit: 100_000,
  });
  return rows
    .filter(({ arrival }) => arrival > after && arrival <= through)
    .sort((a, b) => a.arrival - b.arrival)
    .map(({ arrival, timeNs, level, message, attributes }) => {
      const timestamp = Number(timeNs / 1_000_000n);
      return [arrival, JSON.parse(JSON.stringify({ timestamp, log_level: level, message, attributes }))];
    });
}
