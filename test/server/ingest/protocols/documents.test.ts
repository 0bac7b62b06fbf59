/** Documents of Elasticsearch with ids of the sender's own, single documents, and `filter_path`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filterPaths } from "../../../../server/ingest/elasticsearch/filter-path.ts";
import { call, lines, type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

let dir: string;
let server: Running;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-documents-"));
  server = await startServer({ dataDir: dir });
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Item {
  _index: string;
  _id: string;
  status: number;
  error?: { type: string; reason: string };
}

const nowMs = Date.now();

async function bulk(...actions: [name: string, id: string | undefined, message: string][]): Promise<Item[]> {
  const body = lines(
    actions.flatMap(([name, id, message]) => [
      { [name]: { _index: "orders", ...(id === undefined ? {} : { _id: id }) } },
      { "@timestamp": nowMs, message },
    ]),
  );
  const got = await send<{ items: Record<string, Item>[] }>(server, { path: "/_bulk", body });
  expect(got.status).toBe(200);
  return got.json.items.map((item) => Object.values(item)[0]!);
}

const statusesOf = (items: Item[]) => items.map(({ status }) => status);
const messages = async (query: string) =>
  (await findRows(server, query)).map(({ message }) => message).sort();

describe("documents with ids", () => {
  test("create of an id that is stored conflicts, and the other documents of the bulk are stored", async () => {
    expect(statusesOf(await bulk(["create", "a1", "first"], ["create", "a2", "first"]))).toEqual([201, 201]);
    const items = await bulk(
      ["create", "a2", "second"],
      ["create", "a3", "second"],
      ["create", undefined, "second"],
    );
    expect(statusesOf(items)).toEqual([409, 201, 201]);
    expect(items[0]!.error).toEqual({
      type: "version_conflict_engine_exception",
      reason: "[a2]: version conflict, document already exists (current version [1])",
    });
    expect(await messages('logs{_index="orders", _id="a2"}')).toEqual(["first"]);
    expect(await messages('logs{_index="orders", _id="a3"}')).toEqual(["second"]);
  });

  test("index of an id that is stored is refused, since rows are not replaced", async () => {
    expect(statusesOf(await bulk(["index", "b1", "old"]))).toEqual([201]);
    const [item] = await bulk(["index", "b1", "new"]);
    expect(item).toMatchObject({
      status: 409,
      error: { reason: expect.stringContaining("are not replaced") },
    });
    expect(await messages('logs{_id="b1"}')).toEqual(["old"]);
  });

  test("the second document of an id in one bulk conflicts", async () => {
    expect(statusesOf(await bulk(["create", "c1", "one"], ["index", "c1", "two"]))).toEqual([201, 409]);
    expect(await messages('logs{_id="c1"}')).toEqual(["one"]);
  });

  test("a bulk that comes again adds nothing, without ids as well", async () => {
    const actions = [
      ["create", "d1", "again d"],
      ["create", undefined, "again d"],
    ] as [string, string | undefined, string][];
    expect(statusesOf(await bulk(...actions))).toEqual([201, 201]);
    expect(statusesOf(await bulk(...actions))).toEqual([409, 201]);
    expect(await messages('logs{} |= "again d"')).toEqual(["again d", "again d"]);
  });

  test("of bulks that come at once, one stores each id", async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        bulk(["create", "e1", `at once ${i}`], ["create", `e-${i}`, "at once, own"]),
      ),
    );
    expect(all.map((items) => items[0]!.status).sort()).toEqual([201, ...new Array(7).fill(409)]);
    expect(await messages('logs{_id="e1"}')).toHaveLength(1);
    expect(await messages('logs{} |= "at once, own"')).toHaveLength(8);
  });

  test("an id of another index, or of another environment, is another document", async () => {
    const made = await call<{ token: string }>(server, "/api/v1/environments/create", {
      token: server.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ environment: { name: "staging" } }),
    });
    expect(made.status).toBe(200);
    const body = lines([{ create: { _id: "f1", _index: "i" } }, { "@timestamp": nowMs, message: "same id" }]);
    const other = lines([
      { create: { _id: "f1", _index: "j" } },
      { "@timestamp": nowMs, message: "same id" },
    ]);
    const headers = { Authorization: `Bearer ${made.json.token}` };
    const sent = [{ body }, { body: other }, { body, headers }, { body, headers }];
    const statuses: boolean[] = [];
    for (const each of sent)
      statuses.push((await send<{ errors: boolean }>(server, { path: "/_bulk", ...each })).json.errors);
    expect(statuses).toEqual([false, false, false, true]);
    expect(await messages('logs{_id="f1"}')).toHaveLength(3);
  });

  test("ids that are too long are refused", async () => {
    const [item] = await bulk(["create", "x".repeat(513), "long"]);
    expect(item).toMatchObject({ status: 400, error: { reason: "_id is longer than 512 bytes" } });
  });

  test("a bulk with too many ids is refused as a whole", async () => {
    const actions = Array.from(
      { length: 100_001 },
      (_, i) => `{"create":{"_id":"t${i}","_index":"many"}}\n{}\n`,
    );
    const got = await send<{ error: { reason: string } }>(server, { path: "/_bulk", body: actions.join("") });
    expect([got.status, got.json.error.reason]).toEqual([
      413,
      "the body has more than 100000 documents with ids: send it in smaller parts",
    ]);
    expect(await messages('logs{_index="many"}')).toEqual([]);
  });

  test("after a restart the ids of stored documents are known", async () => {
    await bulk(["create", "g1", "before the restart"]);
    await server.stop();
    server = await startServer({ dataDir: dir });
    expect(statusesOf(await bulk(["create", "g1", "after"], ["create", "g2", "after"]))).toEqual([409, 201]);
    expect(await messages('logs{_id="g1"}')).toEqual(["before the restart"]);
  });
});

describe("single documents", () => {
  const document = JSON.stringify({ "@timestamp": nowMs, message: "a single one" }, null, 2);

  test.each([
    ["POST", "/single/_doc", 201, 201],
    ["PUT", "/single/_doc/h1", 201, 409],
    ["POST", "/single/_doc/h2?op_type=create", 201, 409],
    ["PUT", "/single/_create/h3", 201, 409],
    ["POST", "/single/_create/h4", 201, 409],
  ])("%s %s", async (method, path, first, second) => {
    const got = await send<Item & { result: string }>(server, { method, path, body: document });
    expect([got.status, got.json._index, got.json.result]).toEqual([first, "single", "created"]);
    const id = /h\d/.exec(path)?.[0];
    if (id !== undefined) expect(got.json._id).toBe(id);
    const again = await send<{ status: number; error: { type: string } }>(server, {
      method,
      path,
      body: document,
    });
    expect(again.status).toBe(second);
    if (second === 409)
      expect(again.json).toMatchObject({ status: 409, error: { type: "version_conflict_engine_exception" } });
    if (id !== undefined) expect(await messages(`logs{_id="${id}"}`)).toEqual(["a single one"]);
  });

  test("a document that cannot be read is refused with the reason", async () => {
    const got = await send<{ error: { type: string; reason: string } }>(server, {
      path: "/single/_doc",
      body: '{"@timestamp":"yesterday"}',
    });
    expect([got.status, got.json.error.type]).toEqual([400, "document_parsing_exception"]);
    expect(got.json.error.reason).toContain("@timestamp must be a date");
  });
});

describe("filter_path", () => {
  test("selects parts of a bulk's answer", async () => {
    const body = lines([{ create: { _index: "p" } }, { message: "filtered" }, { delete: { _id: "1" } }]);
    const got = await send(server, {
      path: "/_bulk?filter_path=errors,items.*.error.type,items.*.status",
      body,
    });
    expect(got.json).toEqual({
      errors: true,
      items: [
        { create: { status: 201 } },
        { delete: { status: 400, error: { type: "document_parsing_exception" } } },
      ],
    });
  });

  const answer = {
    took: 1,
    errors: false,
    items: [{ create: { _id: "1", status: 201 } }, { index: { status: 400 } }],
  };
  test.each([
    ["errors", { errors: false }],
    ["items.*.status", { items: [{ create: { status: 201 } }, { index: { status: 400 } }] }],
    ["items.create", { items: [{ create: { _id: "1", status: 201 } }] }],
    ["**.status", { items: [{ create: { status: 201 } }, { index: { status: 400 } }] }],
    ["e*s", { errors: false }],
    ["items.**", { items: answer.items }],
    ["-items", { took: 1, errors: false }],
    ["items,-items.create._id", { items: [{ create: { status: 201 } }, { index: { status: 400 } }] }],
    ["items.*.error", {}],
    ["**.**.**.**.**.**.nothing", {}],
  ])("%s", (paths, expected) => {
    expect(filterPaths(answer, paths)).toEqual(expected);
  });
});
