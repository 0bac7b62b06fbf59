/**
 * Fluent Bit 3 and 4 with its output `es`, which says nothing before the first bulk. The request, and what the output
 * reads of the answer, were taken from its sources (out_es of 3.x and 4.x).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Running, startServer } from "../../running.ts";
import { findRows } from "../protocols/rows.ts";
import {
  type AgentRequest,
  type Answer,
  apiKey,
  basic,
  bulkOf,
  openFullServer,
  overdrawnSender,
  say,
} from "./conversation.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const index = "fluent-bit";
const timeMs = Date.now() - 60_000;
const time = new Date(timeMs).toISOString();

/** The defaults: uncompressed, with a type, which Elasticsearch 8 no longer takes. */
const defaultAction = { create: { _index: index, _type: "_doc" } };
/** `Suppress_Type_Name On` */
const untypedAction = { create: { _index: index } };

function bulk(
  records: readonly object[],
  {
    action = defaultAction,
    authorization = basic(server.adminToken),
  }: { action?: object; authorization?: string } = {},
): AgentRequest {
  return {
    method: "POST",
    path: "/_bulk",
    headers: {
      "User-Agent": "Fluent-Bit",
      "Content-Type": "application/x-ndjson",
      Authorization: authorization,
    },
    body: bulkOf(action, records),
  };
}

/**
 * Whether Fluent Bit is done with the chunk; otherwise it sends the whole of it again, once unless Retry_Limit says
 * more. 3.x, and the first releases of 4.x, are done where any record was stored; later ones where no record was refused
 * but for its id.
 */
function isDone({ status, text }: Answer, release: "3" | "later"): boolean {
  if (![200, 201].includes(status) || text === "") return false;
  const { errors, items } = JSON.parse(text) as {
    errors: unknown;
    items: Record<string, { status: unknown }>[];
  };
  if (typeof errors !== "boolean") return false;
  if (!errors) return true;
  const statuses = items.map((item) => {
    const members = Object.values(item);
    if (members.length !== 1 || typeof members[0]!.status !== "number")
      throw new Error("an item that is not read");
    return members[0]!.status;
  });
  const isStored = (each: number) => each === 200 || each === 201;
  if (release === "3") return statuses.some(isStored);
  return statuses.every((each) => isStored(each) || each === 409);
}

const releases = ["3", "later"] as const;

const kubernetes = {
  pod_name: "cart-7d9c5b6f4-x2x8q",
  namespace_name: "shop",
  pod_id: "c0ffee00-0002-4d1e-8f00-1234567890ab",
  labels: { app: "cart", "app.kubernetes.io/part-of": "shop" },
  annotations: { "prometheus.io/scrape": "true" },
  host: "node-1",
  pod_ip: "10.244.1.17",
  container_name: "cart",
  docker_id: "0a1b2c3d",
  container_hash: "registry.example/cart@sha256:aa11",
  container_image: "registry.example/cart:1.4.2",
};
const kubernetesAttributes = {
  "kubernetes.pod_name": "cart-7d9c5b6f4-x2x8q",
  "kubernetes.namespace_name": "shop",
  "kubernetes.pod_id": "c0ffee00-0002-4d1e-8f00-1234567890ab",
  "kubernetes.labels.app": "cart",
  "kubernetes.labels.app.kubernetes.io/part-of": "shop",
  "kubernetes.annotations.prometheus.io/scrape": "true",
  "kubernetes.host": "node-1",
  "kubernetes.pod_ip": "10.244.1.17",
  "kubernetes.container_name": "cart",
  "kubernetes.docker_id": "0a1b2c3d",
  "kubernetes.container_hash": "registry.example/cart@sha256:aa11",
  "kubernetes.container_image": "registry.example/cart:1.4.2",
  // Made of the namespace and the label `app`.
  "service.name": "/k8s/shop/cart",
};

const lineTime = new Date(timeMs).toISOString().replace("Z", "123456Z");

/** Records by their source, with what is stored of each. */
const records: [
  source: string,
  record: object,
  stored: { log_level: string; message: string; attributes: object },
][] = [
  [
    "tail with the parser docker, and the filter kubernetes",
    { "@timestamp": time, log: "order 4713 paid\n", stream: "stdout", time: lineTime, kubernetes },
    {
      log_level: "",
      message: "order 4713 paid\n",
      attributes: { _index: index, stream: "stdout", time: lineTime, ...kubernetesAttributes },
    },
  ],
  [
    "tail with the multi-line parser cri, and the filter kubernetes",
    { "@timestamp": time, time: lineTime, stream: "stderr", _p: "F", log: "payment refused", kubernetes },
    {
      log_level: "",
      message: "payment refused",
      attributes: { _index: index, stream: "stderr", time: lineTime, _p: "F", ...kubernetesAttributes },
    },
  ],
  [
    "the same with Merge_Log On, of a line that is JSON",
    {
      "@timestamp": time,
      time: lineTime,
      stream: "stderr",
      _p: "F",
      log: '{"level":"error","msg":"no stock","order":4714}',
      level: "error",
      msg: "no stock",
      order: 4714,
      kubernetes,
    },
    {
      log_level: "error",
      message: "no stock",
      attributes: {
        _index: index,
        stream: "stderr",
        time: lineTime,
        _p: "F",
        log: '{"level":"error","msg":"no stock","order":4714}',
        level: "error",
        order: "4714",
        ...kubernetesAttributes,
      },
    },
  ],
  [
    "systemd",
    {
      "@timestamp": time,
      PRIORITY: "6",
      SYSLOG_FACILITY: "3",
      SYSLOG_IDENTIFIER: "kubelet",
      MESSAGE: "SyncLoop ADD",
      _SYSTEMD_UNIT: "kubelet.service",
      _HOSTNAME: "node-1",
      _PID: "812",
      _TRANSPORT: "stdout",
    },
    {
      log_level: "6",
      message: "SyncLoop ADD",
      attributes: {
        _index: index,
        PRIORITY: "6",
        SYSLOG_FACILITY: "3",
        SYSLOG_IDENTIFIER: "kubelet",
        _SYSTEMD_UNIT: "kubelet.service",
        _HOSTNAME: "node-1",
        _PID: "812",
        _TRANSPORT: "stdout",
        "service.name": "kubelet",
      },
    },
  ],
];

describe("a bulk", () => {
  test.each(records)("every field is stored: %s", async (_source, record, stored) => {
    const answer = await say(server, bulk([record]));
    for (const release of releases) expect(isDone(answer, release)).toBe(true);
    // Looked for as text where the answer is longer than Fluent Bit's buffer.
    expect(answer.text).toContain('"errors":false,"items":[');
    const found = await findRows(server, `logs{_index="${index}"}`);
    expect(found.filter(({ message }) => message === stored.message)).toEqual([
      { timestamp: timeMs, ...stored },
    ]);
  });

  const line = (log: string) => ({ "@timestamp": time, log, stream: "stdout" });

  test.each([
    ["HTTP_User and HTTP_Passwd", basic, defaultAction],
    ["HTTP_User and HTTP_Passwd, Suppress_Type_Name On", basic, untypedAction],
    ["HTTP_API_Key", apiKey, defaultAction],
  ])(
    "with %s; of a lost answer the same chunk comes again and adds nothing",
    async (name, authorize, action) => {
      const sent = bulk([line(`chunk with ${name}, 1`), line(`chunk with ${name}, 2`)], {
        action,
        authorization: authorize(server.adminToken),
      });
      for (let i = 0; i < 2; i++) expect(isDone(await say(server, sent), "later")).toBe(true);
      const rows = await findRows(server, 'logs{} |= "chunk with"');
      expect(rows.filter(({ message }) => message.startsWith(`chunk with ${name}, `))).toHaveLength(2);
    },
  );

  test("with Generate_ID On, ids that are stored are no reason to send again in later releases", async () => {
    const withId = (id: string, log: string) =>
      bulkOf({ create: { ...defaultAction.create, _id: id } }, [line(log)]);
    const [a, b] = ["1e5a-a", "1e5a-b"].map((id) => withId(id, `generated ${id}`));
    expect(isDone(await say(server, { ...bulk([]), body: a! }), "later")).toBe(true);
    const partly = await say(server, { ...bulk([]), body: a! + b! });
    expect(JSON.parse(partly.text)).toMatchObject({
      errors: true,
      items: [{ create: { status: 409 } }, { create: { status: 201 } }],
    });
    for (const release of releases) expect(isDone(partly, release)).toBe(true);
    // 3.x sends a chunk again whose records are all there, until Retry_Limit ends it.
    const wholly = await say(server, { ...bulk([]), body: a! + b! });
    expect([isDone(wholly, "3"), isDone(wholly, "later")]).toEqual([false, true]);
    expect(await findRows(server, 'logs{} |= "generated"')).toHaveLength(2);
  });

  test("of a chunk with a wrong time the others are stored once, whether it comes again or not", async () => {
    const chunk = bulk([
      line("before the wrong one"),
      { ...line("the wrong one"), "@timestamp": "yesterday" },
      line("after the wrong one"),
    ]);
    for (let i = 0; i < 2; i++) {
      const answer = await say(server, chunk);
      expect(JSON.parse(answer.text)).toMatchObject({
        errors: true,
        items: [{ create: { status: 201 } }, { create: { status: 400 } }, { create: { status: 201 } }],
      });
      // 3.x drops the wrong one alone; later releases send all again, and then give the chunk up.
      expect([isDone(answer, "3"), isDone(answer, "later")]).toEqual([true, false]);
    }
    const rows = await findRows(server, 'logs{} |= "the wrong one"');
    expect(rows.map(({ message }) => message).sort()).toEqual([
      "after the wrong one",
      "before the wrong one",
    ]);
  });

  test("429: it is sent again, and is stored once the limit allows it", async () => {
    const { token, lift } = await overdrawnSender(server);
    const sent = bulk([line("over the limit, 1"), line("over the limit, 2")], {
      authorization: basic(token),
    });
    const refused = await say(server, sent);
    expect(refused.status).toBe(429);
    for (const release of releases) expect(isDone(refused, release)).toBe(false);
    await lift();
    expect(isDone(await say(server, sent), "later")).toBe(true);
    expect(await findRows(server, 'logs{} |= "over the limit"')).toHaveLength(2);
  });

  test("503 of a full disk: it is sent again", async () => {
    const full = await openFullServer();
    const answer = await say(full, bulk([line("no room")]));
    await full.close();
    expect(answer.status).toBe(503);
    for (const release of releases) expect(isDone(answer, release)).toBe(false);
  });
});
