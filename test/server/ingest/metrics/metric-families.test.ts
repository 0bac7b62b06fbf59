/** Metric families that senders of remote write 1.0 describe: what is remembered of them, for whom, and how long. */
import snappy from "snappyjs";
import { expect, test } from "vitest";
import { decodeBody } from "../../../../server/index.ts";
import { Families, familyKey, readFamilies } from "../../../../server/ingest/prometheus/families.ts";
import { writeRequest1 } from "../../../../server/ingest/prometheus/schema.ts";
import { call, startServer } from "../../running.ts";
import { makeSampleTask } from "./kept-series.ts";

const counter = 1;
const gauge = 2;

function encoded(request: object): Buffer {
  return Buffer.from(writeRequest1.encode(writeRequest1.fromObject(request)).finish());
}

/** The families of a body, as the decoding thread passes them on. */
function familiesOf(metadata: { metricFamilyName: string; unit: string }[]) {
  const described = metadata.map((each) => ({ ...each, type: counter }));
  const body = encoded({ metadata: described });
  const decoded = decodeBody(makeSampleTask({ format: "remote write 1", body, seriesMax: 10 }));
  return decoded.ok ? decoded.families : undefined;
}

const makeFamilies = (prefix: string, count: number, unit = "seconds") =>
  Array.from({ length: count }, (_, i) => ({ type: counter, name: `${prefix}_${i}`, unit }));

test("names and units longer than those of a series are ignored", () => {
  const longest = { metricFamilyName: "n".repeat(1_024), unit: "u".repeat(256) };
  const got = familiesOf([
    longest,
    { metricFamilyName: "ü".repeat(513), unit: "" },
    { metricFamilyName: "long_unit", unit: "u".repeat(257) },
  ]);
  expect(got?.map(({ name, unit }) => [name, unit])).toEqual([[longest.metricFamilyName, longest.unit]]);
});

test("of a body with too many families the first are remembered", () => {
  const sent = makeFamilies("f", 10_500).map(({ name }) => ({ metricFamilyName: name, unit: "" }));
  expect(familiesOf(sent)?.at(-1)?.name).toBe("f_9999");
});

test("a description with a long unit does not stop the samples that follow", async () => {
  const server = await startServer();
  const write = async (request: object) => {
    const got = await call(server, "/api/v1/write", {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-protobuf", "Content-Encoding": "snappy" },
      body: new Uint8Array(snappy.compress(new Uint8Array(encoded(request)))),
    });
    return got.status;
  };
  const metadata = [{ type: counter, metricFamilyName: "up", unit: "u".repeat(2 ** 20) }];
  expect(await write({ metadata })).toBe(204);
  const labels = [{ name: "__name__", value: "up" }];
  const samples = [{ value: 1, timestamp: Date.now() }];
  expect(await write({ timeseries: [{ labels, samples }] })).toBe(204);
  await server.stop();
});

test("one sender takes half of the memory at most, and another still finds room", () => {
  let nowMs = 0;
  const families = new Families(() => nowMs);
  const long = "n".repeat(1_000);
  for (let i = 0; i < 30; i++) families.add("greedy", makeFamilies(`${long}_${i}`, 1_000));
  families.add("other", makeFamilies("up", 1));
  const known = readFamilies(families.shared);
  expect(known.get(familyKey("other", "up_0"))).toEqual({ type: counter, unit: "seconds" });
  expect(known.get(familyKey("greedy", `${long}_0_0`))).toEqual({ type: counter, unit: "seconds" });
  expect(families.shared.json.length).toBeLessThan(8 * 2 ** 20);
  // A family that finds no room with a longer unit is forgotten: its earlier description holds no longer.
  families.add("greedy", makeFamilies("short", 1_000));
  families.add("greedy", makeFamilies("short", 1, "u".repeat(256)));
  nowMs += 10_000;
  const later = readFamilies(families.shared);
  expect(later.has(familyKey("greedy", "short_1"))).toBe(true);
  expect(later.has(familyKey("greedy", "short_0"))).toBe(false);
});

test("50,000 ordinary families of one sender fit, and are shared once a second while they change", () => {
  let nowMs = 0;
  const families = new Families(() => nowMs);
  const all = makeFamilies("family_of_a_metric_with_a_usual_name", 50_000);
  families.add("sender", all);
  const first = families.shared;
  const known = readFamilies(first);
  expect(known.get(familyKey("sender", all.at(-1)!.name))).toEqual({ type: counter, unit: "seconds" });
  families.add("sender", all);
  nowMs = 5_000;
  expect(families.shared).toBe(first);
  // Now each body changes the type of a family.
  const versions = new Set<number>();
  for (let i = 0; i < 100; i++) {
    families.add("sender", [{ ...all[0]!, type: i % 2 === 0 ? gauge : counter }]);
    nowMs += 50;
    versions.add(families.shared.version);
  }
  expect(versions.size).toBeLessThan(12);
  nowMs += 2_000;
  expect(readFamilies(families.shared).get(familyKey("sender", all[0]!.name))?.type).toBe(counter);
});

test("what a sender has not described for a day is forgotten, and its memory is free for others", () => {
  const hour = 3_600_000;
  let nowMs = 0;
  const families = new Families(() => nowMs);
  const known = () => {
    nowMs += 10_000;
    return readFamilies(families.shared);
  };
  const long = "n".repeat(1_000);
  const many = Array.from({ length: 8 }, (_, i) => makeFamilies(`${long}_${i}`, 900)).flat();
  families.add("gone", many);
  const kept = makeFamilies("kept", 2);
  families.add("here", kept);
  expect(known().has(familyKey("gone", many.at(-1)!.name))).toBe(true);
  // Of the sender that is here, one family is described again, as each minute, and one is not.
  for (let i = 1; i < 24; i++) {
    nowMs += hour;
    families.add("here", [kept[0]!]);
  }
  expect(known().size).toBe(many.length + 2);
  families.add("here", many);
  expect(known().has(familyKey("here", many.at(-1)!.name))).toBe(false);
  nowMs += hour;
  // Bodies of any kind are read with what is known.
  expect([...known().keys()].filter((key) => key.startsWith("gone"))).toEqual([]);
  expect(known().has(familyKey("here", "kept_0"))).toBe(true);
  expect(known().has(familyKey("here", "kept_1"))).toBe(false);
  families.add("here", many);
  expect(known().has(familyKey("here", many.at(-1)!.name))).toBe(true);
});
