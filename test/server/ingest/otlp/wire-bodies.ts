/** Random OTLP bodies as bytes of protobuf: records of usual and unusual shapes in random order, some of them broken. */
import type { Random } from "../../../../fixtures/random.ts";
import { mutateBody } from "../body-mutation.ts";

/** A number, sometimes in more bytes than it needs, rarely in more than the ten that it may have. */
export function varint(value: bigint | number, random?: Random): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  if (random?.oneIn(40)) {
    const longer = random.oneIn(100) ? 1 + random.below(11) : 1;
    for (let more = 0; more < longer; more++) bytes.push(bytes.pop()! | 0x80, 0);
  }
  return Buffer.from(bytes);
}

/** A field of bytes. */
export function bytesField(number: number, bytes: Uint8Array, random?: Random): Buffer {
  return Buffer.concat([varint((number << 3) | 2, random), varint(bytes.length, random), bytes]);
}

function varintField(number: number, value: bigint | number, random: Random): Buffer {
  return Buffer.concat([varint(number << 3, random), varint(value, random)]);
}

function eightByteField(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

const texts = ["", "a", "GET /api/products 200", "größer 🦜", '{"a":1}', '{"msg":"b"}', "x".repeat(33), "\0"];
const brokenTexts = [
  [0x80],
  [0xc0, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0x61, 0xe2, 0x82],
  [0xff],
];
const usualKeys = ["http.route", "status", "user", "a", "b", "a.b"];
const oddKeys = [
  ...["service.name", "k8s.cluster.name", "environment", "attributes.environment", "k8s.pod.name"],
  ...["trace_id", "span_id", "event.name", "dropped_attributes_count", "otel.scope.name", "trace_state"],
  ...[
    "name",
    "kind",
    "duration_ms",
    "status_message",
    "",
    "ключ",
    "__proto__",
    "k".repeat(1_024),
    "k".repeat(1_025),
  ],
];
const integers = [0n, 7n, -1n, 200n, 2n ** 53n, 2n ** 53n - 1n, -(2n ** 63n), 2n ** 63n - 1n, 1n, 10n, 99n];

function textOf(random: Random): Buffer {
  if (random.oneIn(60)) return Buffer.from(random.pick(brokenTexts));
  if (random.oneIn(60)) return Buffer.from("ü".repeat(random.below(40)) + "y".repeat(random.below(300)));
  return Buffer.from(random.pick(texts));
}

function anyValue(random: Random, depth = 0): Buffer {
  if (!random.oneIn(8)) return bytesField(1, textOf(random), random);
  const kind = random.below(depth > 2 ? 6 : 9);
  switch (kind) {
    case 0:
    case 1:
      return varintField(3, random.pick(integers), random);
    case 2:
      return varintField(2, random.pick([0n, 1n, 2n ** 40n]), random);
    case 3:
      return Buffer.alloc(0);
    case 4:
      return Buffer.concat([
        anyValue(random, 3),
        random.oneIn(2) ? unknownField(random) : anyValue(random, 3),
      ]);
    case 5:
      return eightByteField(4, random.pick([0n, 0x3ff8_0000_0000_0000n, 0x7ff8_0000_0000_0000n]));
    case 6:
      return bytesField(7, textOf(random), random);
    case 7:
      return bytesField(
        5,
        Buffer.concat(listOf(random, 3, () => bytesField(1, anyValue(random, depth + 1)))),
      );
    default:
      return bytesField(
        6,
        Buffer.concat(listOf(random, 3, () => bytesField(1, keyValue(random, depth + 1)))),
      );
  }
}

function listOf<T>(random: Random, max: number, make: (index: number) => T): T[] {
  return Array.from({ length: random.below(max + 1) }, (_, index) => make(index));
}

function keyValue(random: Random, depth = 0): Buffer {
  const name = random.oneIn(12) ? Buffer.from(random.pick(oddKeys)) : Buffer.from(random.pick(usualKeys));
  const key = bytesField(1, random.oneIn(150) ? Buffer.from(random.pick(brokenTexts)) : name, random);
  const value = bytesField(2, anyValue(random, depth), random);
  if (!random.oneIn(25)) return Buffer.concat([key, value]);
  const parts = [key, value, unknownField(random), bytesField(2, Buffer.alloc(0))];
  return Buffer.concat(listOf(random, 4, () => random.pick(parts)));
}

function unknownField(random: Random): Buffer {
  switch (random.below(4)) {
    case 0:
      return varintField(900, random.pick(integers), random);
    case 1:
      return eightByteField(901, 7n);
    case 2:
      return bytesField(902, Buffer.from("unknown"), random);
    default:
      return Buffer.concat([varint((8 << 3) | 5), Buffer.from([1, 0, 0, 0])]);
  }
}

function idOf(random: Random, length: number): Buffer {
  if (random.oneIn(12))
    return Buffer.alloc(random.oneIn(2) ? length : random.below(length + 2), random.below(2));
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

const usualTime = 1_762_999_000_000_000_000n;
const oddTimes = [
  0n,
  1n,
  999_999_999n,
  10n ** 9n,
  2n ** 64n - 1n,
  usualTime + 10n ** 14n,
  usualTime - 10n ** 17n,
];

function timeOf(random: Random): bigint {
  if (random.oneIn(20)) return random.pick(oddTimes);
  return usualTime + BigInt(random.below(2_000_000)) * 1_000_001n;
}

/** Field by field: mostly once each and in order, at times left out, repeated or moved. */
function fieldsOf(random: Random, fields: readonly (() => Buffer)[]): Buffer {
  const made: Buffer[] = [];
  for (const field of fields) {
    if (random.oneIn(25)) continue;
    made.push(field());
    if (random.oneIn(40)) made.push(field());
    if (random.oneIn(40)) made.unshift(made.pop()!);
    if (random.oneIn(40)) made.push(unknownField(random));
  }
  if (random.oneIn(20)) made.push(unknownField(random));
  return Buffer.concat(made);
}

/** Attributes, mostly with different keys. */
function attributesOf(random: Random, number: number): Buffer {
  const usual = usualKeys.slice(0, random.below(usualKeys.length + 1)).map((key) => {
    const value = bytesField(2, anyValue(random), random);
    return bytesField(number, Buffer.concat([bytesField(1, Buffer.from(key)), value]), random);
  });
  return Buffer.concat(random.oneIn(4) ? [...usual, bytesField(number, keyValue(random), random)] : usual);
}

function logRecord(random: Random): Buffer {
  return fieldsOf(random, [
    () => eightByteField(1, timeOf(random)),
    () => varintField(2, random.below(27), random),
    () => bytesField(3, random.oneIn(3) ? textOf(random) : Buffer.from("INFO"), random),
    () => bytesField(5, anyValue(random), random),
    () => attributesOf(random, 6),
    () => (random.oneIn(6) ? varintField(7, random.pick(integers), random) : Buffer.alloc(0)),
    () => Buffer.concat([varint((8 << 3) | 5), Buffer.from([1, 0, 0, 0])]),
    () => bytesField(9, idOf(random, 16), random),
    () => bytesField(10, idOf(random, 8), random),
    () => eightByteField(11, timeOf(random)),
    () => (random.oneIn(6) ? bytesField(12, textOf(random), random) : Buffer.alloc(0)),
  ]);
}

function span(random: Random): Buffer {
  const start = timeOf(random);
  const end = random.oneIn(8)
    ? timeOf(random)
    : start + random.pick([0n, 1n, 10n ** 6n, 12_345_678n, 10n ** 15n]);
  const count = (number: number) => () =>
    random.oneIn(6) ? varintField(number, random.pick(integers), random) : Buffer.alloc(0);
  return fieldsOf(random, [
    () => bytesField(1, idOf(random, 16), random),
    () => bytesField(2, idOf(random, 8), random),
    () => bytesField(3, random.oneIn(3) ? textOf(random) : Buffer.alloc(0), random),
    () => bytesField(4, random.oneIn(4) ? Buffer.alloc(0) : idOf(random, 8), random),
    () => bytesField(5, textOf(random), random),
    () => varintField(6, random.oneIn(40) ? random.pick(integers) : random.below(6), random),
    () => eightByteField(7, start),
    () => eightByteField(8, end),
    () => attributesOf(random, 9),
    count(10),
    () => (random.oneIn(20) ? bytesField(11, bytesField(2, textOf(random)), random) : Buffer.alloc(0)),
    count(12),
    () => (random.oneIn(20) ? bytesField(13, bytesField(1, idOf(random, 16)), random) : Buffer.alloc(0)),
    count(14),
    () => bytesField(15, statusOf(random), random),
  ]);
}

function statusOf(random: Random): Buffer {
  return fieldsOf(random, [
    () => bytesField(2, textOf(random), random),
    () => varintField(3, random.below(random.oneIn(10) ? 5 : 3), random),
  ]);
}

const makeRecord = { logs: logRecord, traces: span } as const;

/** A body of a signal. One in a few is cut or mutated, or has records that are. */
export function makeWireBody(signal: keyof typeof makeRecord, random: Random): Buffer {
  const cutsRecords = random.oneIn(12);
  const record = () => {
    const whole = makeRecord[signal](random);
    return cutsRecords && random.oneIn(8) ? whole.subarray(0, whole.length - random.below(8)) : whole;
  };
  const scope = () =>
    Buffer.concat([
      bytesField(1, textOf(random)),
      random.oneIn(2) ? bytesField(2, Buffer.from("1.2")) : Buffer.alloc(0),
      ...listOf(random, 2, () => bytesField(3, keyValue(random))),
    ]);
  const scopeRecords = () =>
    Buffer.concat([
      random.oneIn(5) ? Buffer.alloc(0) : bytesField(1, scope(), random),
      ...listOf(random, 12, () =>
        random.oneIn(20) ? unknownField(random) : bytesField(2, record(), random),
      ),
      bytesField(3, Buffer.from("https://opentelemetry.io/schemas/1.27.0")),
    ]);
  const resource = () =>
    Buffer.concat([
      bytesField(1, Buffer.concat(listOf(random, 5, () => bytesField(1, keyValue(random)))), random),
      ...listOf(random, 2, () => bytesField(2, scopeRecords(), random)),
    ]);
  const body = Buffer.concat(listOf(random, 3, () => bytesField(1, resource(), random)));
  if (random.oneIn(12)) return mutateBody(body, random);
  return random.oneIn(30) ? body.subarray(0, random.below(body.length + 1)) : body;
}
