/** Ids of rows, both orders, and the surroundings of a row, against an array. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { call, type Entry, type Got, ingest, lines, type Running, startServer } from "../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 20);
const endTime = start + 4 * dayMs;
let server: Running;
/** In the order of arrival, over three days and with many rows to a millisecond. */
const rows: Entry[] = [];

type Identified = Entry & { id: string };
interface Page {
  logs: Identified[];
  cursor?: string;
  error?: string;
}
interface Around {
  row: Identified;
  before: Identified[];
  after: Identified[];
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
  error?: string;
}

const post = <T>(path: string, body: object, token = server.adminToken): Promise<Got<T>> =>
  call<T>(server, `/api/v1/${path}`, {
    ...{ method: "POST", token, body: JSON.stringify(body) },
    headers: { "Content-Type": "application/json" },
  });
const search = (body: object) =>
  post<Page>("query/logs", { query: "", startTime: start, endTime, limit: 1_000, ids: true, ...body });
const textOf = ({ message }: Entry) => message;

beforeAll(async () => {
  server = await startServer();
  const random = new Random(seed);
  for (let batch = 0; batch < 6; batch++) {
    const some = Array.from({ length: 400 }, (_, i) => ({
      timestamp: start + random.below(3) * dayMs + random.below(40) * 1_000,
      log_level: random.pick(["info", "error"]),
      message: `row ${batch}-${i}`,
      attributes: {
        pod: `pod-${random.below(4)}`,
        "service.name": random.pick(["/k8s/shop/a", "/k8s/bank/b"]),
      },
    }));
    await ingest(server, lines(some));
    rows.push(...some);
    if (batch === 2) await server.service.store.seal();
  }
});
afterAll(() => server.stop());

/** Newest first, ties in the order of arrival. */
function ordered(keep: (row: Entry) => boolean = () => true): Entry[] {
  return rows
    .map((row, arrival) => ({ row, arrival }))
    .filter(({ row }) => keep(row))
    .sort((a, b) => b.row.timestamp - a.row.timestamp || a.arrival - b.arrival)
    .map(({ row }) => row);
}

async function pages(body: object): Promise<Identified[]> {
  const all: Identified[] = [];
  for (let cursor: string | undefined; ; ) {
    const { json } = await search({ ...body, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...json.logs);
    if (json.cursor === undefined) return all;
    ({ cursor } = json);
  }
}

test("oldest first is newest first from its end, in pages of any size", async () => {
  const expected = ordered().map(textOf);
  expect((await pages({ limit: 700 })).map(textOf)).toEqual(expected);
  expect((await pages({ limit: 171, order: "oldest" })).map(textOf)).toEqual(expected.toReversed());
  const errors = ordered(({ log_level }) => log_level === "error").map(textOf);
  const query = '{log_level="error"}';
  expect((await pages({ query, limit: 97, order: "oldest" })).map(textOf)).toEqual(errors.toReversed());
});

test("a cursor of the other order is refused", async () => {
  const { cursor } = (await search({ limit: 5 })).json;
  const got = await search({ limit: 5, cursor, order: "oldest" });
  expect([got.status, got.json.error]).toEqual([400, expect.stringContaining("in the other order")]);
});

test("ids are there where they are asked for, and differ", async () => {
  const all = await pages({});
  expect(new Set(all.map(({ id }) => id)).size).toBe(rows.length);
  for (const { id } of all) expect(id).toMatch(/^[\w-]{20,40}$/);
  expect(Object.keys((await search({ ids: false, limit: 1 })).json.logs[0]!)).toEqual([
    ...["timestamp", "log_level", "message", "attributes"],
  ]);
});

describe(`the surroundings of a row (SVC_SEED=${seed})`, () => {
  test("are the rows before and after it in the search, whatever was sealed meanwhile and after a restart", async () => {
    const random = new Random(seed, 1);
    const all = await pages({});
    const compare = async () => {
      for (let i = 0; i < 60; i++) {
        const at = random.below(all.length);
        const pod = `pod-${random.below(4)}`;
        const isFiltered = random.oneIn(2);
        const [before, after] = [random.below(30), random.below(30)];
        const query = isFiltered ? `{pod="${pod}"}` : "";
        const { status, json } = await post<Around>("query/around", {
          id: all[at]!.id,
          before,
          after,
          query,
        });
        const keep = (row: Entry) => !isFiltered || row.attributes.pod === pod;
        const earlier = all.slice(at + 1).filter(keep);
        const later = all.slice(0, at).filter(keep);
        expect(status).toBe(200);
        expect(json.row).toEqual(all[at]);
        expect(json.before).toEqual(earlier.slice(0, before));
        expect(json.after).toEqual(after === 0 ? [] : later.slice(-after));
        const more = [before > 0 && earlier.length > before, after > 0 && later.length > after];
        expect([json.hasMoreBefore, json.hasMoreAfter]).toEqual(more);
      }
    };
    await compare();
    await server.service.store.seal();
    await compare();
    const { dir } = server;
    await server.service.close();
    server = await startServer({ dataDir: dir });
    await compare();
  });

  test("are 20 rows either way where nothing is said, and those of a range where one is given", async () => {
    const all = await pages({});
    const { json } = await post<Around>("query/around", { id: all[1_000]!.id });
    expect([json.before.length, json.after.length]).toEqual([20, 20]);
    const { timestamp, id } = all[1_000]!;
    const within = await post<Around>("query/around", {
      id,
      before: 500,
      after: 500,
      startTime: timestamp,
      endTime: timestamp,
    });
    const same = ordered((row) => row.timestamp === timestamp).map(textOf);
    const found = [...within.json.after, within.json.row, ...within.json.before].map(textOf);
    expect(found).toEqual(same);
  });

  test("are refused with the reason", async () => {
    const [{ id }] = (await search({ limit: 1 })).json.logs as [Identified];
    const got = async (body: object) => {
      const { status, json } = await post<Around>("query/around", body);
      return [status, json.error];
    };
    expect(await got({ id: "x" })).toEqual([
      400,
      "id: expected the id of a row of an earlier answer, unchanged",
    ]);
    const changed = `${id.slice(0, -1)}${id.endsWith("x") ? "y" : "x"}`;
    expect(await got({ id: changed })).toEqual([400, expect.stringContaining("id: expected")]);
    expect(await got({ id, before: 501 })).toEqual([
      400,
      expect.stringContaining("before must be an integer from 0 to 500"),
    ]);
    expect(await got({ id, query: "{a=" })).toEqual([400, expect.stringContaining("line 1")]);
    expect(await got({})).toEqual([400, expect.stringContaining("id is required")]);
    expect(await got({ id, signal: "traces" })).toEqual([
      400,
      expect.stringContaining("signal must be one of"),
    ]);
    // A whole id of a row that was never stored.
    const other = await startServer();
    await ingest(other, lines([{ timestamp: start + 17, message: "elsewhere" }]));
    const body = JSON.stringify({ query: "", startTime: 0, endTime, ids: true });
    const found = await call<Page>(other, "/api/v1/query/logs", {
      ...{ method: "POST", token: other.adminToken, body },
      headers: { "Content-Type": "application/json" },
    });
    await other.stop();
    expect(await got({ id: found.json.logs[0]!.id })).toEqual([404, "there is no row with this id"]);
  });

  test("hold only what the caller may read, and a row that they may not read is not there", async () => {
    const group = { name: "red" };
    expect((await post("groups", { group })).status).toBe(200);
    const telemetryRule = {
      type: "namespace",
      namespace: "shop",
      groups: ["red"],
      rules: [{ signals: ["logs"] }],
    };
    expect((await post("telemetry-rules", { telemetryRule })).status).toBe(200);
    const { token } = (await post<{ token: string }>("tokens", { role: "viewer", groups: ["red"] })).json;
    const all = await pages({});
    const isOpen = (row: Entry) => row.attributes["service.name"] === "/k8s/shop/a";
    const open = all.findIndex((row, i) => i > 500 && isOpen(row));
    const hidden = all.findIndex((row) => !isOpen(row));
    const seen = await post<Around>("query/around", { id: all[open]!.id, before: 30, after: 30 }, token);
    expect(seen.json.before).toEqual(
      all
        .slice(open + 1)
        .filter(isOpen)
        .slice(0, 30),
    );
    expect(seen.json.after).toEqual(all.slice(0, open).filter(isOpen).slice(-30));
    const refused = await post<Around>("query/around", { id: all[hidden]!.id }, token);
    expect([refused.status, refused.json.error]).toEqual([404, "there is no row with this id"]);
  });
});
