/** Spans of a day of a real cluster against a loop over the raw file. Skipped where the file is missing. */
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, post, startServer } from "../running.ts";

const places = [
  process.env.SVC_TRAIN_TICKET_SPANS,
  new URL("../../../../shared/data/train-ticket/spans.jsonl.gz", import.meta.url).pathname,
];
const file = places.find((place) => place !== undefined && existsSync(place));
const traceId = "de8471f4caa64de97801204904f6db04";
/** Lines of one body, some megabytes. */
const bodyLines = 30_000;

interface RawSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string>;
}

interface Node {
  spanId: string;
  children: Node[];
}

describe.skipIf(file === undefined)(
  "a day of Train Ticket spans (skipped where SVC_TRAIN_TICKET_SPANS names no spans.jsonl.gz)",
  () => {
    let server: Running;
    let raw: RawSpan[];

    beforeAll(async () => {
      server = await startServer();
      const text = gunzipSync(readFileSync(file!)).toString("utf8").trimEnd().split("\n");
      for (let at = 0; at < text.length; at += bodyLines) {
        await ingest(server, `${text.slice(at, at + bodyLines).join("\n")}\n`, {}, "spans");
      }
      raw = text.map((line) => JSON.parse(line) as RawSpan);
    }, 120_000);
    afterAll(() => server?.stop());

    test("are all found, by service", async () => {
      const body = { signal: "traces", field: "service.name", limit: 1_000 };
      const { json } = await post<{ values: { value: string; count: number }[] }>(server, "values", body);
      const counts = new Map<string, number>();
      for (const { attributes } of raw) {
        const name = attributes["service.name"]!;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      expect(new Map(json.values.map(({ value, count }) => [value, count]))).toEqual(counts);
      expect(raw.length).toBe(328_848);
    });

    test("are counted by duration", async () => {
      const query = 'traces{service.name=~".*(order|travel).*", duration_ms>250}';
      const { json } = await post<{ count: number }>(server, "histogram", {
        signal: "traces",
        query,
        bucketSize: 3_600,
      });
      const took = ({ startTimeUnixNano, endTimeUnixNano }: RawSpan) =>
        Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
      const slow = raw.filter(
        (span) => /order|travel/.test(span.attributes["service.name"]!) && took(span) > 250,
      );
      expect(json.count).toBe(slow.length);
      expect(slow.length).toBeGreaterThan(100);
    });

    test("of one request form its tree", async () => {
      const { json } = await call<{ spans: number; durationMs: number; roots: Node[] }>(
        server,
        `/api/v1/traces/${traceId}`,
      );
      const own = new Map(raw.filter((span) => span.traceId === traceId).map((span) => [span.spanId, span]));
      const parents = new Map<string, string>();
      const visit = (nodes: Node[], parent: string) => {
        for (const node of nodes) {
          parents.set(node.spanId, parent);
          visit(node.children, node.spanId);
        }
      };
      visit(json.roots, "");
      expect(json.spans).toBe(own.size);
      expect(parents).toEqual(
        new Map(
          Array.from(own.values(), ({ spanId, parentSpanId }) => [
            spanId,
            own.has(parentSpanId) ? parentSpanId : "",
          ]),
        ),
      );
      const starts = Array.from(own.values(), (span) => BigInt(span.startTimeUnixNano)).sort((a, b) =>
        Number(a - b),
      );
      const ends = Array.from(own.values(), (span) => BigInt(span.endTimeUnixNano)).sort((a, b) =>
        Number(b - a),
      );
      expect(json.durationMs).toBe(Number(ends[0]! - starts[0]!) / 1e6);
    });
  },
);
