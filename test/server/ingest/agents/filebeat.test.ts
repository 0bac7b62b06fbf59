/**
 * Filebeat 8.17 with `output.elasticsearch` and its defaults. The conversation, and what Filebeat reads of each answer,
 * were taken from its sources (libbeat 8.x).
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

const index = "filebeat-8.17.0";
const timeMs = Date.now() - 60_000;
const time = new Date(timeMs).toISOString();

/** Headers of every request. Go asks for gzip itself. */
const headersOf = (authorization: string) => ({
  "User-Agent":
    "Elastic-Filebeat/8.17.0 (linux; amd64; 092f0eae4d0d343cc3a142f671c2a0428df67840; 2024-12-11)",
  Accept: "application/json",
  Authorization: authorization,
  "X-Elastic-Product-Origin": "beats",
  "Accept-Encoding": "gzip",
});

/** Headers of a body, which is compressed with level 1. */
function packed(text: string): Pick<AgentRequest, "headers" | "body"> {
  const headers = {
    "Content-Type": "application/json; charset=UTF-8",
    "Content-Encoding": "gzip",
    "X-Elastic-Uncompressed-Request-Length": String(Buffer.byteLength(text)),
  };
  return { headers, body: gzipSync(text, { level: 1 }) };
}

function bulk(documents: readonly object[], token = server.adminToken): AgentRequest {
  const { headers, body } = packed(bulkOf({ create: { _index: index } }, documents));
  return {
    method: "POST",
    path: "/_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status",
    headers: { ...headersOf(basic(token)), ...headers },
    body: body!,
  };
}

/** What Filebeat does after an answer; "split" where it sends the documents in two halves. */
function outcomeOf({ status, text }: Answer, count: number): Outcome | "split" {
  if (status === 413) return "split";
  if (status !== 200) return sortDocuments(count, () => "sentAgain");
  const { items } = JSON.parse(text) as { items: Record<string, { status: number }>[] };
  return sortDocuments(count, (i) => {
    const members = Object.values(items[i]!);
    if (members.length !== 1) throw new Error(`an item has ${members.length} members`);
    const [{ status: each }] = members as [{ status: number }];
    // 409 says that the document of this id is there.
    if (each < 300 || each === 409) return "stored";
    return each === 429 || each >= 500 ? "sentAgain" : "dropped";
  });
}

const exists: Pick<Step, "requires" | "accepts"> = {
  requires: "it exists, so that Filebeat need not make it",
  accepts: ({ status }) => status === 200,
};

interface Root {
  version: { number: string; build_flavor: string };
  cluster_uuid: string;
}

function startUp(headers: Record<string, string>): Step[] {
  return [
    {
      method: "GET",
      path: "/",
      headers,
      requires: "a version that is not older than Filebeat's, and no serverless flavor",
      accepts: (answer) => {
        const { version } = JSON.parse(answer.text) as Root;
        const [major = 0, minor = 0] = version.number.split(".").map(Number);
        return isSuccess(answer) && major === 8 && minor >= 17 && version.build_flavor === "default";
      },
    },
    {
      method: "GET",
      path: "/_license?human=false",
      headers,
      requires: "status 200, and a licence of a known type and status",
      accepts: ({ status, text }) => {
        const { license } = JSON.parse(text) as { license: { type: string; status: string } };
        return status === 200 && license.type === "basic" && license.status === "active";
      },
    },
    { method: "GET", path: "/_ilm/policy/filebeat", headers, ...exists },
    { method: "HEAD", path: `/_index_template/${index}`, headers, ...exists },
    {
      method: "GET",
      path: "/",
      headers,
      requires: "the id of the cluster",
      accepts: ({ text }) => (JSON.parse(text) as Root).cluster_uuid.length > 0,
    },
  ];
}

describe("before the first document", () => {
  test.each([
    ["username and password", basic],
    ["api_key", apiKey],
  ])("with %s", async (_name, authorize) => {
    expect(await converse(server, startUp(headersOf(authorize(server.adminToken))))).toBeNull();
  });

  test("`filebeat setup` writes policy, template and data stream", async () => {
    const headers = headersOf(basic(server.adminToken));
    const taken = { requires: "a status below 300", accepts: isSuccess };
    // As many fields as Filebeat has with all of its modules.
    const fields = Array.from({ length: 7_000 }, (_, i) => [
      `field_${i}`,
      { type: "keyword", ignore_above: 1024 },
    ]);
    const template = {
      data_stream: {},
      index_patterns: [index],
      template: { mappings: { properties: Object.fromEntries(fields) } },
    };
    const put = (path: string, body: object): Step => {
      const { headers: ofBody, body: bytes } = packed(`${JSON.stringify(body)}\n`);
      return { method: "PUT", path, headers: { ...headers, ...ofBody }, body: bytes!, ...taken };
    };
    const policy = {
      policy: { phases: { hot: { actions: { rollover: { max_age: "30d", max_size: "50gb" } } } } },
    };
    const steps: Step[] = [
      ...startUp(headers),
      put("/_ilm/policy/filebeat", policy),
      put(`/_index_template/${index}`, template),
      { method: "GET", path: `/_data_stream/${index}`, headers, ...exists },
      // Sent where the data stream does not exist, without a body.
      { method: "PUT", path: `/_data_stream/${index}`, headers, ...taken },
    ];
    expect(await converse(server, steps)).toBeNull();
  });

  test("a wrong password keeps the output from sending", async () => {
    const problem = await converse(server, startUp(headersOf(basic("no-token"))));
    expect(problem).toMatch(/^GET \/(?:_license\?human=false)?: .*got 401 /);
  });
});

const common = {
  "@timestamp": time,
  input: { type: "filestream" },
  ecs: { version: "8.0.0" },
  host: {
    name: "node-1",
    hostname: "node-1",
    architecture: "x86_64",
    os: {
      type: "linux",
      platform: "ubuntu",
      version: "22.04.5 LTS (Jammy Jellyfish)",
      family: "debian",
      name: "Ubuntu",
      kernel: "6.8.0-51-generic",
      codename: "jammy",
    },
    id: "9b2f0c3c5b5f4f0fb3c4a7e2f1d0c9b8",
    containerized: false,
    ip: ["10.0.0.7", "fe80::5054:ff:fe12:3456"],
    mac: ["52-54-00-12-34-56"],
  },
  agent: {
    ephemeral_id: "0d5f2a5e-8e0b-4f0a-9a53-4c8f2a0f7d11",
    id: "6f4b0f9f-7c3a-4d5e-8a21-1f2e3d4c5b6a",
    name: "node-1",
    type: "filebeat",
    version: "8.17.0",
  },
};
const commonAttributes = {
  _index: index,
  "input.type": "filestream",
  "ecs.version": "8.0.0",
  "host.name": "node-1",
  "host.hostname": "node-1",
  "host.architecture": "x86_64",
  "host.os.type": "linux",
  "host.os.platform": "ubuntu",
  "host.os.version": "22.04.5 LTS (Jammy Jellyfish)",
  "host.os.family": "debian",
  "host.os.name": "Ubuntu",
  "host.os.kernel": "6.8.0-51-generic",
  "host.os.codename": "jammy",
  "host.id": "9b2f0c3c5b5f4f0fb3c4a7e2f1d0c9b8",
  "host.containerized": "false",
  "host.ip": '["10.0.0.7","fe80::5054:ff:fe12:3456"]',
  "host.mac": '["52-54-00-12-34-56"]',
  "agent.ephemeral_id": "0d5f2a5e-8e0b-4f0a-9a53-4c8f2a0f7d11",
  "agent.id": "6f4b0f9f-7c3a-4d5e-8a21-1f2e3d4c5b6a",
  "agent.name": "node-1",
  "agent.type": "filebeat",
  "agent.version": "8.17.0",
};

/** A line of a file, by the input filestream. */
const fileLine = (message: string, offset: number) => ({
  ...common,
  log: { offset, file: { path: "/var/log/app.log", device_id: "64768", inode: "131086" } },
  message,
});
const fileLineAttributes = (offset: number) => ({
  ...commonAttributes,
  "log.offset": String(offset),
  "log.file.path": "/var/log/app.log",
  "log.file.device_id": "64768",
  "log.file.inode": "131086",
});

const podLogPath = "/var/log/containers/cart-7d9c5b6f4-x2x8q_shop_cart-0a1b2c.log";
/** A line of a container, with the parser `container` and `add_kubernetes_metadata`. */
const containerLine = {
  ...common,
  stream: "stderr",
  message: "payment refused: card expired",
  log: { offset: 2048, file: { path: podLogPath, device_id: "64768", inode: "262201" } },
  container: { id: "0a1b2c", runtime: "containerd", image: { name: "registry.example/cart:1.4.2" } },
  kubernetes: {
    namespace: "shop",
    namespace_uid: "a3c1f0de-0001-4c1f-9d55-5b1f3a2c4d5e",
    namespace_labels: { kubernetes_io_metadata_name: "shop" },
    node: { name: "node-1", uid: "b7e2", hostname: "node-1", labels: { kubernetes_io_os: "linux" } },
    pod: { name: "cart-7d9c5b6f4-x2x8q", uid: "c0ffee00-0002-4d1e-8f00-1234567890ab", ip: "10.244.1.17" },
    labels: { app: "cart", app_kubernetes_io_name: "cart", "pod-template-hash": "7d9c5b6f4" },
    replicaset: { name: "cart-7d9c5b6f4" },
    deployment: { name: "cart" },
    container: { name: "cart" },
  },
};
const containerLineAttributes = {
  ...commonAttributes,
  stream: "stderr",
  "log.offset": "2048",
  "log.file.path": podLogPath,
  "log.file.device_id": "64768",
  "log.file.inode": "262201",
  "container.id": "0a1b2c",
  "container.runtime": "containerd",
  "container.image.name": "registry.example/cart:1.4.2",
  "kubernetes.namespace": "shop",
  "kubernetes.namespace_uid": "a3c1f0de-0001-4c1f-9d55-5b1f3a2c4d5e",
  "kubernetes.namespace_labels.kubernetes_io_metadata_name": "shop",
  "kubernetes.node.name": "node-1",
  "kubernetes.node.uid": "b7e2",
  "kubernetes.node.hostname": "node-1",
  "kubernetes.node.labels.kubernetes_io_os": "linux",
  "kubernetes.pod.name": "cart-7d9c5b6f4-x2x8q",
  "kubernetes.pod.uid": "c0ffee00-0002-4d1e-8f00-1234567890ab",
  "kubernetes.pod.ip": "10.244.1.17",
  "kubernetes.labels.app": "cart",
  "kubernetes.labels.app_kubernetes_io_name": "cart",
  "kubernetes.labels.pod-template-hash": "7d9c5b6f4",
  "kubernetes.replicaset.name": "cart-7d9c5b6f4",
  "kubernetes.deployment.name": "cart",
  "kubernetes.container.name": "cart",
  // Made of the namespace and the deployment.
  "service.name": "/k8s/shop/cart",
};

describe("a bulk", () => {
  test("every field is stored; of a lost answer the same bulk comes again and adds nothing", async () => {
    const sent = bulk([fileLine("order 4711 paid", 1024), containerLine]);
    for (let i = 0; i < 2; i++) {
      const answer = await say(server, sent);
      expect(JSON.parse(answer.text)).toEqual({
        errors: false,
        items: [{ create: { status: 201 } }, { create: { status: 201 } }],
      });
      expect(outcomeOf(answer, 2)).toEqual({ stored: [0, 1], dropped: [], sentAgain: [] });
    }
    const line = { timestamp: timeMs, log_level: "" };
    expect(await findRows(server, `logs{_index="${index}", log.offset="1024"}`)).toEqual([
      { ...line, message: "order 4711 paid", attributes: fileLineAttributes(1024) },
    ]);
    expect(await findRows(server, 'logs{service.name="/k8s/shop/cart"}')).toEqual([
      { ...line, message: "payment refused: card expired", attributes: containerLineAttributes },
    ]);
  });

  test("a document with a wrong time is dropped alone", async () => {
    const documents = [
      fileLine("before the wrong one", 1),
      { ...fileLine("the wrong one", 2), "@timestamp": "yesterday" },
      fileLine("after the wrong one", 3),
    ];
    for (let i = 0; i < 2; i++) {
      const answer = await say(server, bulk(documents));
      expect(JSON.parse(answer.text)).toMatchObject({
        errors: true,
        items: [{}, { create: { status: 400, error: { type: "document_parsing_exception" } } }, {}],
      });
      expect(outcomeOf(answer, 3)).toEqual({ stored: [0, 2], dropped: [1], sentAgain: [] });
    }
    const rows = await findRows(server, 'logs{} |= "the wrong one"');
    expect(rows.map(({ message }) => message).sort()).toEqual([
      "after the wrong one",
      "before the wrong one",
    ]);
  });

  test("with an id, as `@metadata._id` gives it, a document comes once in bulks that differ", async () => {
    const withIds = (...ids: string[]): AgentRequest => {
      const parts = ids.map((id) =>
        bulkOf({ create: { _index: index, _id: id } }, [fileLine(`with id ${id}`, 9)]),
      );
      const { headers, body } = packed(parts.join(""));
      const sent = bulk([]);
      return { ...sent, headers: { ...sent.headers, ...headers }, body: body! };
    };
    expect(outcomeOf(await say(server, withIds("a")), 1)).toMatchObject({ stored: [0] });
    const answer = await say(server, withIds("a", "b"));
    expect(JSON.parse(answer.text)).toMatchObject({
      items: [{ create: { status: 409 } }, { create: { status: 201 } }],
    });
    expect(outcomeOf(answer, 2)).toEqual({ stored: [0, 1], dropped: [], sentAgain: [] });
    const rows = await findRows(server, 'logs{} |= "with id"');
    expect(rows.map(({ attributes }) => attributes._id).sort()).toEqual(["a", "b"]);
  });
});

describe("an answer for the whole bulk", () => {
  const everything: Outcome = { stored: [], dropped: [], sentAgain: [0, 1] };

  test("429: it is sent again, and is stored once the limit allows it", async () => {
    const { token, lift } = await overdrawnSender(server);
    const sent = bulk([fileLine("over the limit", 11), fileLine("over the limit", 12)], token);
    const refused = await say(server, sent);
    expect(refused.status).toBe(429);
    expect(outcomeOf(refused, 2)).toEqual(everything);
    await lift();
    expect(outcomeOf(await say(server, sent), 2)).toMatchObject({ stored: [0, 1] });
    expect(await findRows(server, 'logs{} |= "over the limit"')).toHaveLength(2);
  });

  test("503 of a full disk: it is sent again", async () => {
    const full = await openFullServer();
    const answer = await say(full, bulk([fileLine("no room", 21), fileLine("no room", 22)]));
    await full.close();
    expect(answer.status).toBe(503);
    expect(outcomeOf(answer, 2)).toEqual(everything);
  });
});
