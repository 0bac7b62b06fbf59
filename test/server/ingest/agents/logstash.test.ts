/**
 * Logstash 8.17 with its Elasticsearch output and the defaults, which write to a data stream. The conversation, and what
 * the output reads of each answer, were taken from its sources (logstash-output-elasticsearch 11.x).
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Running, startServer } from "../../running.ts";
import { findRows } from "../protocols/rows.ts";
import {
  type AgentRequest,
  type Answer,
  apiKey,
  basic,
  bulkOf,
  converse,
  isSuccess,
  type Outcome,
  openFullServer,
  overdrawnSender,
  type Step,
  say,
  sortDocuments,
} from "./conversation.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const stream = "logs-generic-default";
const timeMs = Date.now() - 60_000;
/** Logstash's times have nanoseconds where the clock has. */
const time = new Date(timeMs).toISOString().replace("Z", "456789Z");

const headersOf = (authorization: string) => ({
  "Content-Type": "application/json",
  "x-elastic-product-origin": "logstash-output-elasticsearch",
  "User-Agent":
    "logstash/8.17.0 (OS=Linux-6.8.0-51-generic-amd64; JVM=Eclipse Adoptium-21.0.5) logstash-output-elasticsearch/11.22.9",
  Authorization: authorization,
  "Accept-Encoding": "gzip,deflate",
});

/** The time of compression stands in the head of gzip, so that a bulk that is sent again has other bytes. */
function gzipAt(text: string, seconds: number): Buffer {
  const bytes = gzipSync(text, { level: 1 });
  bytes.writeUInt32LE(seconds, 4);
  return bytes;
}

/** Ids and routing are sent as null where none are configured. */
const action = { create: { _id: null, _index: stream, routing: null } };

function bulk(documents: readonly object[], token = server.adminToken, sentAt = 1_734_000_000): AgentRequest {
  const text = bulkOf(action, documents);
  return {
    method: "POST",
    path: "/_bulk?filter_path=errors,items.*.error,items.*.status",
    headers: {
      ...headersOf(basic(token)),
      "Content-Encoding": "gzip",
      "X-Elastic-Event-Count": String(documents.length),
      "X-Elastic-Uncompressed-Request-Length": String(Buffer.byteLength(text)),
    },
    body: gzipAt(text, sentAt),
  };
}

/** What the output does after an answer. Documents that are dropped go to the dead letter queue, if there is one. */
function outcomeOf({ status, text }: Answer, count: number): Outcome {
  const sendAllAgain = () => sortDocuments(count, () => "sentAgain");
  if (status !== 200) return sendAllAgain();
  const { errors, items } = JSON.parse(text) as {
    errors: boolean;
    items: Record<string, { status: number }>[];
  };
  if (!errors) return sortDocuments(count, () => "stored");
  if (items.length !== count) return sendAllAgain();
  return sortDocuments(count, (i) => {
    const { status: each } = Object.values(items[i]!)[0]!;
    if ([200, 201].includes(each)) return "stored";
    return [400, 404, 409].includes(each) ? "dropped" : "sentAgain";
  });
}

interface Root {
  version: { number: string; build_flavor: string };
  cluster_uuid: string;
}

/** Statuses that are no error to the HTTP client of the output. */
const isRead = (answer: Answer) => isSuccess(answer) || answer.status === 404;

function startUp(headers: Record<string, string>): Step[] {
  return [
    {
      method: "HEAD",
      path: "/",
      headers,
      requires: "a healthy node",
      accepts: isSuccess,
    },
    {
      method: "GET",
      path: "/",
      headers,
      requires: "a version with data streams, the product header, and no serverless flavor",
      accepts: (answer) => {
        const { version } = JSON.parse(answer.text) as Root;
        const isProduct = answer.headers["x-elastic-product"] === "Elasticsearch";
        return (
          isSuccess(answer) && isProduct && /^8\./.test(version.number) && version.build_flavor === "default"
        );
      },
    },
    {
      method: "GET",
      path: "/_license",
      headers,
      requires: "an active licence",
      accepts: ({ text }) =>
        (JSON.parse(text) as { license: { status: string } }).license.status === "active",
    },
    {
      method: "GET",
      path: "/",
      headers,
      requires: "the id of the cluster",
      accepts: ({ text }) => (JSON.parse(text) as Root).cluster_uuid.length > 0,
    },
  ];
}

describe("before the first event", () => {
  test.each([
    ["user and password", basic],
    ["api_key", apiKey],
  ])("with %s", async (_name, authorize) => {
    expect(await converse(server, startUp(headersOf(authorize(server.adminToken))))).toBeNull();
  });

  test("with an index of its own, which has a template", async () => {
    const headers = headersOf(basic(server.adminToken));
    const template = { index_patterns: ["ecs-logstash-*"], template: { settings: {} }, priority: 200 };
    const path = "/_index_template/ecs-logstash";
    const steps: Step[] = [
      ...startUp(headers),
      { method: "HEAD", path, headers, requires: "whether it exists", accepts: isRead },
      // Sent with `template_overwrite`.
      {
        method: "PUT",
        path,
        headers,
        body: JSON.stringify(template),
        requires: "success",
        accepts: isSuccess,
      },
    ];
    expect(await converse(server, steps)).toBeNull();
  });

  test("with `data_stream => false`, which has an alias and a policy", async () => {
    const headers = headersOf(basic(server.adminToken));
    const alias = { aliases: { "ecs-logstash": { is_write_index: true } } };
    const first = "/%3Cecs-logstash-%7Bnow%2Fd%7D-000001%3E";
    const steps: Step[] = [
      ...startUp(headers),
      {
        method: "HEAD",
        path: "/_index_template/ecs-logstash",
        headers,
        requires: "whether it exists",
        accepts: isRead,
      },
      { method: "HEAD", path: "/ecs-logstash", headers, requires: "whether it exists", accepts: isRead },
      // The output goes on after 404, which it does not tell from success here.
      {
        method: "PUT",
        path: first,
        headers,
        body: JSON.stringify(alias),
        requires: "no error but 404",
        accepts: isRead,
      },
      {
        method: "GET",
        path: "/_ilm/policy/logstash-policy",
        headers,
        requires: "that it exists",
        accepts: isSuccess,
      },
    ];
    expect(await converse(server, steps)).toBeNull();
  });

  test("a wrong password keeps the output from sending", async () => {
    const problem = await converse(server, startUp(headersOf(basic("no-token"))));
    expect(problem).toMatch(/^(?:HEAD|GET) \/.*got 401 /);
  });
});

/** An event of the input `file`. */
const fileEvent = (message: string) => ({
  "@timestamp": time,
  "@version": "1",
  message,
  event: { original: message },
  host: { name: "logstash-1" },
  log: { file: { path: "/var/log/app.log" } },
  data_stream: { type: "logs", dataset: "generic", namespace: "default" },
});
const fileEventAttributes = (message: string) => ({
  _index: stream,
  "@version": "1",
  "event.original": message,
  "host.name": "logstash-1",
  "log.file.path": "/var/log/app.log",
  "data_stream.type": "logs",
  "data_stream.dataset": "generic",
  "data_stream.namespace": "default",
});

/** An event of the input `beats`, with a level that a filter found. */
const beatsEvent = {
  ...fileEvent("stock is low"),
  tags: ["beats_input_codec_plain_applied"],
  input: { type: "filestream" },
  ecs: { version: "8.0.0" },
  agent: { type: "filebeat", version: "8.17.0", name: "node-1", id: "6f4b0f9f", ephemeral_id: "0d5f2a5e" },
  log: { offset: 512, level: "WARN", file: { path: "/var/log/stock.log", inode: "77", device_id: "64768" } },
  host: { name: "node-1", ip: ["10.0.0.7"], os: { name: "Ubuntu" } },
  duration: 12.5,
};

describe("a bulk", () => {
  test("every field is stored; of a lost answer the same events come again, compressed anew, and add nothing", async () => {
    const events = [fileEvent("order 4712 paid"), beatsEvent];
    for (const sentAt of [1_734_000_000, 1_734_000_002]) {
      const answer = await say(server, bulk(events, server.adminToken, sentAt));
      expect(JSON.parse(answer.text)).toMatchObject({ errors: false });
      expect(outcomeOf(answer, 2)).toEqual({ stored: [0, 1], dropped: [], sentAgain: [] });
    }
    expect(await findRows(server, 'logs{host.name="logstash-1"}')).toEqual([
      {
        timestamp: timeMs,
        log_level: "",
        message: "order 4712 paid",
        attributes: fileEventAttributes("order 4712 paid"),
      },
    ]);
    expect(await findRows(server, 'logs{host.name="node-1"}')).toEqual([
      {
        timestamp: timeMs,
        log_level: "WARN",
        message: "stock is low",
        attributes: {
          ...fileEventAttributes("stock is low"),
          tags: '["beats_input_codec_plain_applied"]',
          "input.type": "filestream",
          "ecs.version": "8.0.0",
          "agent.type": "filebeat",
          "agent.version": "8.17.0",
          "agent.name": "node-1",
          "agent.id": "6f4b0f9f",
          "agent.ephemeral_id": "0d5f2a5e",
          "log.offset": "512",
          "log.level": "WARN",
          "log.file.path": "/var/log/stock.log",
          "log.file.inode": "77",
          "log.file.device_id": "64768",
          "host.name": "node-1",
          "host.ip": '["10.0.0.7"]',
          "host.os.name": "Ubuntu",
          duration: "12.5",
        },
      },
    ]);
  });

  test("an event with a wrong time is dropped alone", async () => {
    const events = [
      fileEvent("before the wrong one"),
      { ...fileEvent("the wrong one"), "@timestamp": "yesterday" },
      fileEvent("after the wrong one"),
    ];
    for (let i = 0; i < 2; i++) {
      const answer = await say(server, bulk(events));
      expect(outcomeOf(answer, 3)).toEqual({ stored: [0, 2], dropped: [1], sentAgain: [] });
      // What stands in the log and in the dead letter queue.
      expect(JSON.parse(answer.text).items[1].create.error).toEqual({
        type: "document_parsing_exception",
        reason: expect.stringContaining("@timestamp must be a date"),
      });
    }
    expect(await findRows(server, 'logs{} |= "the wrong one"')).toHaveLength(2);
  });

  test("with `document_id` an event comes once in bulks that differ", async () => {
    const withIds = (...ids: string[]): AgentRequest => {
      const parts = ids.map((id) =>
        bulkOf({ create: { _id: id, _index: stream, routing: null } }, [fileEvent(`with id ${id}`)]),
      );
      return { ...bulk([]), body: gzipAt(parts.join(""), 1) };
    };
    expect(outcomeOf(await say(server, withIds("a")), 1)).toMatchObject({ stored: [0] });
    // The conflict is logged, and the event is not sent again.
    expect(outcomeOf(await say(server, withIds("a", "b")), 2)).toEqual({
      stored: [1],
      dropped: [0],
      sentAgain: [],
    });
    const rows = await findRows(server, 'logs{} |= "with id"');
    expect(rows.map(({ attributes }) => attributes._id).sort()).toEqual(["a", "b"]);
  });
});

describe("an answer for the whole bulk", () => {
  const everything: Outcome = { stored: [], dropped: [], sentAgain: [0, 1] };

  test("429: it is sent again, and is stored once the limit allows it", async () => {
    const { token, lift } = await overdrawnSender(server);
    const events = [fileEvent("over the limit, 1"), fileEvent("over the limit, 2")];
    const refused = await say(server, bulk(events, token, 1));
    expect(refused.status).toBe(429);
    expect(outcomeOf(refused, 2)).toEqual(everything);
    await lift();
    expect(outcomeOf(await say(server, bulk(events, token, 2)), 2)).toMatchObject({ stored: [0, 1] });
    expect(await findRows(server, 'logs{} |= "over the limit"')).toHaveLength(2);
  });

  test("503 of a full disk: it is sent again", async () => {
    const full = await openFullServer();
    const answer = await say(full, bulk([fileEvent("no room, 1"), fileEvent("no room, 2")]));
    await full.close();
    expect(answer.status).toBe(503);
    expect(outcomeOf(answer, 2)).toEqual(everything);
  });
});
