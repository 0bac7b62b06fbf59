/** Loki's push requests in protobuf as they are read from bytes against those that protobufjs decodes into objects. */
import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { BodyTask } from "../../../server/ingest/decode-task.ts";
import { refuseBodyOnProblem } from "../../../server/ingest/json/json-row.ts";
import { levelRanks } from "../../../server/ingest/loggers/level.ts";
import { parseLabels } from "../../../server/ingest/loki/labels.ts";
import { addEntry, addServiceName, type Texts } from "../../../server/ingest/loki/stream.ts";
import { decodeOrRefuse } from "../../../server/ingest/protobuf-scanner.ts";
import type { RowSink } from "../../../server/ingest/row-sink.ts";
import { scaled } from "../../durability/campaign.ts";
import { mutateBody } from "./body-mutation.ts";
import { makePlainTask } from "./decode-task.ts";
import { anyAdmission, anyText, arrivalMs } from "./json/json-bodies.ts";
import { pushRequest } from "./loki-schema.ts";
import { field } from "./metrics/wire-field.ts";
import { checkAgainstPlain } from "./twin-columns.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

interface DecodedRequest {
  streams: {
    labels: string;
    entries: {
      timestamp: { seconds: { toString(): string }; nanos: number } | null;
      line: string;
      structuredMetadata: { name: string; value: string }[];
    }[];
  }[];
}

/** Decodes the whole request, and adds each entry as an object of texts. */
function readDecoded(body: Buffer, sink: RowSink): void {
  const { streams } = decodeOrRefuse(() => pushRequest.decode(body)) as unknown as DecodedRequest;
  for (const { labels: text, entries } of streams) {
    const labels = addServiceName(refuseBodyOnProblem(() => parseLabels(text)));
    for (const { timestamp, line, structuredMetadata } of entries) {
      const seconds = BigInt((timestamp?.seconds ?? 0).toString());
      const timeNs = seconds * 1_000_000_000n + BigInt(timestamp?.nanos ?? 0);
      const metadata: Texts = Object.create(null);
      for (const { name, value } of structuredMetadata) metadata[name] = value;
      addEntry(sink, labels, () => ({ timeNs, line, metadata }));
    }
  }
}

function check(body: Buffer, more: Partial<BodyTask> = {}) {
  const task = {
    ...({ content: { signal: "logs" }, format: "loki", arrivalMs } as const),
    ...{ ...makePlainTask(body), ...more },
  };
  return checkAgainstPlain(task, readDecoded);
}

function integer(number: number, value: number | string): Buffer {
  return Buffer.from(
    protobuf.Writer.create()
      .uint32(number * 8)
      .int64(value)
      .finish(),
  );
}

const second = Math.floor(arrivalMs / 1000) - 5;
const seconds = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: second - 2, max: second }) },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, -1, second - 86_400, second - 86_400 * 500, 2 ** 33) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("9223372036854775807", "-9223372036854775808", "9007199254740993"),
  },
);
const nanos = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: 999_999_999 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, -1, 1_000_000_000, 2_147_483_647, -2_147_483_648, "4294967296"),
  },
);
const unknown = fc.constantFrom(
  Buffer.from([0x78, 0x05]),
  Buffer.from([0x79, 1, 2, 3, 4, 5, 6, 7, 8]),
  Buffer.from([0x7d, 1, 2, 3, 4]),
  field(15, "x"),
  // Fields of the messages with values of another type than theirs.
  integer(1, 7),
  integer(2, 7),
  integer(3, 7),
  field(4, "x"),
);
/** The bytes of the fields, now and then with an unknown one or in another order. */
const inAnyOrder = (fields: fc.Arbitrary<Buffer[]>) =>
  fc.tuple(fields, fc.nat({ max: 19 }), fc.nat(), unknown).map(([list, choice, place, other]) => {
    const all = [...list];
    if (choice === 0) all.reverse();
    if (choice === 1 || choice === 2) all.splice(place % (all.length + 1), 0, other);
    if (choice === 3 && all.length > 0) all.splice(place % all.length, 0, all[place % all.length]!);
    return Buffer.concat(all);
  });
const time = inAnyOrder(
  fc
    .tuple(fc.option(seconds), fc.option(nanos, { freq: 4 }))
    .map(([whole, rest]) => [
      ...(whole === null ? [] : [integer(1, whole)]),
      ...(rest === null ? [] : [integer(2, rest)]),
    ]),
).map((bytes) => field(1, bytes));
const levelNames = [...levelRanks.keys()];
const names = [
  ...[
    "app",
    "namespace",
    "pod",
    "service_name",
    "service.name",
    "trace_id",
    "environment",
    "a",
    "ü",
    "__proto__",
  ],
  ...["level", "detected_level", "severity_number"],
];
const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...names) },
  { weight: 2, arbitrary: fc.constantFrom(...levelNames) },
  { weight: 1, arbitrary: fc.constantFrom("1", "10", "01", "1a", "k".repeat(1_025)) },
);
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("cart", "shop", "warn", "error", "", "9", "unknown_service") },
  { weight: 1, arbitrary: anyText },
);
const text = value.map((each) => each.toWellFormed());
const pairs = fc.array(
  inAnyOrder(
    fc
      .tuple(fc.oneof({ weight: 9, arbitrary: name }, { weight: 1, arbitrary: text }), text)
      .map(([key, each]) => [field(1, key), field(2, each)]),
  ).map((bytes) => field(3, bytes)),
  { maxLength: 5 },
);
const lines = fc.oneof(
  { weight: 6, arbitrary: anyText.map((each) => each.toWellFormed()) },
  { weight: 1, arbitrary: fc.constantFrom('{"msg":"in JSON","level":"error","a":1}', "{no JSON}") },
);
const entry = inAnyOrder(
  fc
    .tuple(fc.option(time, { freq: 9 }), lines, fc.oneof(fc.constant([]), pairs))
    .map(([at, line, metadata]) => [...(at === null ? [] : [at]), field(2, line), ...metadata]),
).map((bytes) => field(2, bytes));
const label = fc
  .tuple(
    fc.oneof({ weight: 60, arbitrary: name }, { weight: 1, arbitrary: fc.constantFrom("9", "x y", "") }),
    value,
  )
  .map(([key, each]) => `${key}=${JSON.stringify(each)}`);
const labels = fc.oneof(
  { weight: 40, arbitrary: fc.array(label, { maxLength: 5 }).map((list) => `{${list.join(", ")}}`) },
  { weight: 1, arbitrary: fc.constantFrom("", "{", '{a="b",}', "{}", " {} ", '{a=`b`, a="\\ud800"}') },
);
const stream = inAnyOrder(
  fc.tuple(labels, fc.array(entry, { maxLength: 6 })).map(([sent, entries]) => [field(1, sent), ...entries]),
).map((bytes) => field(1, bytes));
const bodies = fc.array(stream, { maxLength: 4 }).map((streams) => Buffer.concat(streams));

describe(`entries of a push request (SVC_SEED=${seed})`, () => {
  test("are the same rows as those of protobufjs", () => {
    fc.assert(
      fc.property(bodies, fc.boolean(), (body, flattensJson) => {
        check(body, { flattensJson });
      }),
      { seed, numRuns: scaled(1_000, 100_000) },
    );
  });

  test("are the same where there are rules, stamps and bounds", () => {
    fc.assert(
      fc.property(bodies, anyAdmission(seed), (body, admission) => {
        check(body, { admission });
      }),
      { seed, numRuns: scaled(700, 50_000) },
    );
  });

  test("are the same where the body is changed at random", () => {
    const random = new Random(seed);
    for (const body of fc.sample(bodies, { seed, numRuns: scaled(1_500, 100_000) }))
      check(mutateBody(body, random));
  });

  test("are the same where the body is cut off", () => {
    const random = new Random(seed);
    for (const body of fc.sample(bodies, { seed, numRuns: 500 }))
      check(body.subarray(0, random.below(body.length + 1)));
  });

  test("are the same with as many labels as a row may have attributes, and more", () => {
    for (const count of [999, 1_000, 1_001]) {
      const many = Array.from({ length: count }, (_, i) => `k${i}="v"`).join(",");
      const entries = [[], [["k5", "w"]], [["m", "w"]]].map((metadata) =>
        field(
          2,
          Buffer.concat([
            field(1, integer(1, second)),
            ...metadata.map(([key, each]) => field(3, Buffer.concat([field(1, key!), field(2, each!)]))),
          ]),
        ),
      );
      const decoded = check(field(1, Buffer.concat([field(1, `{${many}}`), ...entries])));
      expect(decoded).toMatchObject({
        ok: true,
        batch: { rows: count < 1_000 ? 3 : count === 1_000 ? 2 : 0 },
      });
    }
  });
});
