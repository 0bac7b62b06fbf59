/** The tables of the interface specification, field by field; contract.json holds them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { ingest, lines, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { type Tree, valueAt, withValue } from "./place.ts";
import { alert, dashboard, kinds, webhook } from "./samples.ts";

interface Endpoint {
  number: number;
  method: string;
  path: string;
  wraps: string | null;
  answer: string[];
  needsToken: boolean;
}

type Field = [section: string, path: string, type: string];

const contract = JSON.parse(readFileSync(join(import.meta.dirname, "contract.json"), "utf8")) as {
  endpoints: Endpoint[];
  fields: Record<string, Field[]>;
};

let server: Running;
beforeAll(async () => {
  // With what delivers to the destinations of its samples: else answers warn of those that cannot be reached.
  const email = { host: "127.0.0.1", port: 25, security: "none", from: "svc@svc.example" } as const;
  server = await startServer({ notify: { slackToken: "xoxb-1", email, pagerDutyKeys: { shop: "R1" } } });
  await ask(server, "POST", "/webhooks", { webhook: { ...webhook, id: "hook" } });
  await ingest(server, lines([{ message: "x", timestamp: 1_700_000_000_000 }]));
});
afterAll(() => server.stop());

const [rule] = alert.timeseries.evaluationRules;
const actions = [...rule!.actions, { type: "webhook", webhookDestination: { uuid: "hook" } }];
const bodies: Record<string, Tree> = {
  ...Object.fromEntries(kinds.map(({ name, sample }) => [name, sample])),
  alert: { ...alert, timeseries: { ...alert.timeseries, evaluationRules: [{ ...rule, actions }] } },
  environment: { name: "prod" },
};

const logQuery = { query: "x", startTime: 1_700_000_000_000, endTime: 1_700_000_000_000, limit: 1 };

function bodyOf({ method, wraps }: Endpoint): unknown {
  if (method === "GET") return undefined;
  return wraps === null ? logQuery : { [wraps]: bodies[wraps] };
}

describe("section 4", () => {
  test.each(contract.endpoints)("endpoint $number, $method $path, answers with $answer", async (endpoint) => {
    const got = await ask(server, endpoint.method, endpoint.path, bodyOf(endpoint));
    expect([got.status, Object.keys(got.json)]).toEqual([200, endpoint.answer]);
    expect(got.headers.get("content-type")).toContain("application/json");
  });

  test.each(contract.endpoints)("endpoint $number needs a token: $needsToken", async (endpoint) => {
    const got = await ask(server, endpoint.method, endpoint.path, bodyOf(endpoint), { token: null });
    expect(got.status).toBe(endpoint.needsToken ? 401 : 200);
    if (endpoint.needsToken) expect(Object.keys(got.json)).toEqual(["error"]);
  });

  test.each(contract.endpoints.filter(({ method }) => method === "POST"))(
    "endpoint $number refuses a body that is no JSON object",
    async ({ method, path }) => {
      for (const body of [5, [], "x", null]) {
        const got = await ask(server, method, path, body);
        expect([got.status, Object.keys(got.json)]).toEqual([400, ["error"]]);
        expect(got.json.error).toContain("must be a JSON object");
      }
    },
  );

  test("endpoints 1 and 2 update the resource of the id, and create one otherwise", async () => {
    for (const [path, name, sample] of [
      ["/alerts", "alert", alert],
      ["/dashboards", "dashboard", dashboard],
    ] as const) {
      const { id } = sample.metadata;
      for (const title of ["first", "second"]) {
        const changed = { ...sample, metadata: { ...sample.metadata, title, name: title } };
        const body = { [name]: name === "alert" ? withValue(changed, "metadata.title", undefined) : changed };
        expect((await ask(server, "POST", `${path}/update`, body)).json).toEqual({ id });
      }
      const listed = await ask<Record<string, unknown[]>>(server, "GET", path);
      expect(listed.json[`${name}s`]).toHaveLength(1);
    }
  });

  test("endpoint 5 says that there is no Kubernetes source", async () => {
    expect((await ask(server, "GET", "/dashboards/sync")).json).toEqual({
      message: "No cluster's exporter is connected: there is nothing to synchronise.",
    });
  });
});

/** Invalid values of a type, and the error of each. */
function invalidValues(type: string): [value: unknown, error: string][] {
  if (type.startsWith("one of ")) {
    const choices = type.slice("one of ".length).replaceAll(" ", ", ");
    return ["nonsense", 5].map((value) => [value, `must be one of ${choices}, got ${JSON.stringify(value)}`]);
  }
  if (type.startsWith("only ")) return [["nonsense", 'got "nonsense"']];
  switch (type) {
    case "string":
      return [
        [5, "must be a string, got 5"],
        [null, "must be a string, got null"],
        [["a"], "must be a string, got an array"],
      ];
    case "query":
      return [
        [5, "must be a string, got 5"],
        ["count(", ": "],
        ["logs", ": a timeseries query needs an aggregation"],
      ];
    case "boolean":
      return [
        ["true", 'must be true or false, got "true"'],
        [1, "must be true or false, got 1"],
      ];
    case "integer":
      return [
        ["1", 'must be an integer, got "1"'],
        [1.5, "must be an integer, got 1.5"],
        [-1, "or more, got -1"],
      ];
    case "number":
      return [
        ["1", 'must be a number, got "1"'],
        [true, "must be a number, got true"],
      ];
    case "array":
      return [
        [{}, "must be an array, got an object"],
        ["x", 'must be an array, got "x"'],
      ];
    case "object":
      return [
        [[], "must be a JSON object, got an array"],
        ["x", 'must be a JSON object, got "x"'],
      ];
    default:
      throw new Error(`a type of the table is not known: ${type}`);
  }
}

describe.each(Object.entries(contract.fields))("the fields of %s", (name, fields) => {
  const kind = kinds.find((each) => each.name === name);
  const write = (value: Tree) => {
    const body = { [name]: value };
    if (kind === undefined) return ask(server, "POST", "/environments/create", body);
    if (kind.style === "upsert") return ask(server, "POST", `${kind.path}/update`, body);
    return ask(server, "PUT", `${kind.path}/${kind.id}`, body);
  };

  test.each(fields)("section %s: %s is %s", async (_section, path, type) => {
    const valid = bodies[name]!;
    expect(valueAt(valid, path)).toBeDefined();
    for (const [value, error] of invalidValues(type)) {
      const got = await write(withValue(valid, path, value));
      expect([value, got.status]).toEqual([value, 400]);
      expect(got.json.error).toContain(`${name}.${path}`);
      expect(got.json.error).toContain(error);
    }
  });

  if (kind !== undefined) {
    test("all of them together are accepted", async () => {
      expect((await write(bodies[name]!)).json).toEqual({ id: kind.id });
    });
  }
});
