/** Random OTLP bodies and rules that fit them. */

import type { ExclusionRule } from "../../../server/model/exclusion.ts";
import { oneOf, type Random } from "../../server/control/random.ts";
import { bytesField, doubleField, fixedField, varintField } from "./wire.ts";

export type OtlpSignal = "logs" | "traces" | "metrics";

const services = ["/k8s/shop/cart", "/k8s/shop/pay", "/k8s/ops/gate", "cart", ""];
const words = ["gold", "silver", "größer 🦜", "x".repeat(60), "1", "true", "2.5", ""];
/** Keys that rules test, with texts that occur under them. */
const textsOfKey: Readonly<Record<string, readonly string[]>> = {
  "service.name": services,
  tier: words,
  "k8s.pod.name": ["cart-1", "pay-1"],
  a: words,
  "a.b": words,
  "a.b.c": words,
  "": words,
  constructor: words,
  "http.route": ["/healthz", "/cart", "/pay/{id}"],
  "otel.scope.name": ["winston", "http"],
  environment: ["main", "edge"],
  absent: ["main"],
};
const textsOfSignal: Readonly<Record<OtlpSignal, Readonly<Record<string, readonly string[]>>>> = {
  logs: {
    log_level: ["info", "INFO", "error", "warn", ""],
    message: ["order 4711 paid", "connection refused", "größer", "", "12"],
    trace_id: ["01".repeat(16)],
    span_id: ["01".repeat(8)],
    "event.name": ["click"],
  },
  traces: {
    name: ["GET /cart", "POST /pay"],
    "attributes.name": words,
    kind: ["server", "client"],
    status_code: ["ok", "error", "unset"],
    status_message: ["gone"],
    trace_id: ["01".repeat(16)],
    parent_span_id: ["01".repeat(8)],
    trace_state: ["x=1"],
  },
  metrics: {
    __name__: ["requests", "requests_total", "requests_bucket", "requests_sum", "requests_count"],
  },
};

/** Patterns that mean the same in RE2 and JavaScript, with the flags that JavaScript needs. */
export const patterns: ReadonlyMap<string, RegExp> = new Map([
  ["^/k8s/shop/", /^\/k8s\/shop\//],
  ["(?i)ERR", /ERR/i],
  ["o.d", /o.d/],
  ["^$", /^$/],
  ["main|edge", /main|edge/],
  ["ö", /ö/],
  ["[0-9]{4}", /[0-9]{4}/],
  ["^cart", /^cart/],
  ["^requests", /^requests/],
  ["(refused|paid)$", /(refused|paid)$/],
]);

const list = <T>(make: () => T, random: Random, max: number): T[] =>
  Array.from({ length: 1 + Math.floor(random() * max) }, make);

export function randomRules(random: Random, signal: OtlpSignal): ExclusionRule[] {
  return Array.from({ length: Math.floor(random() * 6) }, (_, i) => ({
    id: `rule-${i}`,
    ...(random() < 0.2 ? { cluster: random() < 0.7 ? "main" : "other" } : {}),
    rules: list(() => randomExclusion(random, signal), random, 2),
  }));
}

function randomExclusion(random: Random, signal: OtlpSignal): ExclusionRule["rules"][number] {
  const signals = [random() < 0.9 ? signal : ("profiles" as const)];
  if (random() < 0.01) return { signals, action: "Exclude" };
  const texts = { ...textsOfKey, ...textsOfSignal[signal] };
  const makeExpression = () => {
    // An expression needs a key with a letter.
    const key = oneOf(
      Object.keys(texts).filter((each) => each !== ""),
      random,
    );
    const isExact = random() < 0.6;
    const values = list(() => oneOf(isExact ? texts[key]! : [...patterns.keys()], random), random, 3);
    return { key, operator: isExact ? ("In" as const) : ("RegexIn" as const), values };
  };
  return { signals, action: "Exclude", match: { matchExpressions: list(makeExpression, random, 3) } };
}

/** Now and then a length is written with more bytes than it needs. */
const extra = (random: Random) => (random() < 0.02 ? 1 + Math.floor(random() * 2) : 0);

function shuffled(fields: Buffer[], random: Random): Buffer {
  if (random() < 0.2) fields.sort(() => random() - 0.5);
  return Buffer.concat(fields);
}

function unknownFields(random: Random): Buffer[] {
  if (random() > 0.1) return [];
  return [
    oneOf(
      [
        varintField(99, 12_345_678_901n),
        // A packed list.
        bytesField(31, Buffer.from([1, 2, 0x80, 0x01])),
        fixedField(55, 1n),
        Buffer.from([0x9d, 0x02, 1, 2, 3, 4]),
        bytesField(2_000, ""),
      ],
      random,
    ),
  ];
}

function randomValue(random: Random, texts: readonly string[], depth = 0): Buffer {
  const kind = random();
  if (kind < 0.7 || depth > 2) return bytesField(1, oneOf(texts, random), extra(random));
  if (kind < 0.74) return varintField(2, Math.round(random()));
  if (kind < 0.78) return varintField(3, oneOf([1n, -5n, 4711n, 2n ** 62n], random));
  if (kind < 0.8) return doubleField(4, oneOf([2.5, 1, Number.NaN], random));
  if (kind < 0.83) return bytesField(7, "gone");
  if (kind < 0.86) return Buffer.alloc(0);
  if (kind < 0.9) {
    const elements = list(() => bytesField(1, randomValue(random, texts, depth + 1)), random, 2);
    return bytesField(5, Buffer.concat(elements));
  }
  const key = () => oneOf(["b", "c", "b.c", "name", "route", ""], random);
  const members = list(() => bytesField(1, randomPair(random, key(), texts, depth + 1)), random, 3);
  return bytesField(6, Buffer.concat(members));
}

function randomPair(random: Random, key: string, texts: readonly string[], depth = 0): Buffer {
  const fields = [bytesField(1, key), ...unknownFields(random)];
  if (random() < 0.97) fields.push(bytesField(2, randomValue(random, texts, depth), extra(random)));
  return shuffled(fields, random);
}

const moreKeys = ["n", "name", "service", "k8s", "http", "user.agent", "thread.name", "trace_id"];

function randomAttributes(random: Random, number: number, max: number): Buffer[] {
  return Array.from({ length: Math.floor(random() * (max + 1)) }, () => {
    const isTested = random() < 0.6;
    const key = isTested ? oneOf(Object.keys(textsOfKey), random) : oneOf(moreKeys, random);
    return bytesField(number, randomPair(random, key, textsOfKey[key] ?? words), extra(random));
  });
}

const id = (random: Random, bytes: number) =>
  Buffer.alloc(random() < 0.9 ? bytes : 3, random() < 0.8 ? 1 : 0);

function randomLog(random: Random): Buffer {
  const { log_level: levels, message: messages } = textsOfSignal.logs as Record<string, string[]>;
  const fields = [fixedField(1, 1_763_000_000_123_000_000n)];
  if (random() < 0.5) fields.push(varintField(2, Math.floor(random() * 26)));
  if (random() < 0.7) fields.push(bytesField(3, oneOf(levels!, random)));
  if (random() < 0.9) fields.push(bytesField(5, randomValue(random, messages!)));
  fields.push(...randomAttributes(random, 6, 5));
  if (random() < 0.3) fields.push(bytesField(9, id(random, 16)));
  if (random() < 0.3) fields.push(bytesField(10, id(random, 8)));
  if (random() < 0.2) fields.push(bytesField(12, oneOf(["click", ""], random)));
  return shuffled([...fields, ...unknownFields(random)], random);
}

function randomSpan(random: Random): Buffer {
  const fields = [
    bytesField(1, Buffer.alloc(16, 1)),
    bytesField(2, Buffer.alloc(8, 2)),
    fixedField(7, 1_763_000_000_123_000_000n),
    bytesField(5, oneOf(["GET /cart", "POST /pay", ""], random)),
  ];
  if (random() < 0.3) fields.push(bytesField(3, "x=1"));
  if (random() < 0.4) fields.push(bytesField(4, id(random, 8)));
  if (random() < 0.7) fields.push(varintField(6, Math.floor(random() * 7)));
  fields.push(...randomAttributes(random, 9, 5));
  if (random() < 0.3) fields.push(bytesField(11, bytesField(2, "event")));
  if (random() < 0.5) {
    const status = [varintField(3, Math.floor(random() * 3)), bytesField(2, oneOf(["gone", ""], random))];
    fields.push(bytesField(15, Buffer.concat(status)));
  }
  return shuffled([...fields, ...unknownFields(random)], random);
}

/** Numbers of the data fields of a metric, and of the attributes of their points. */
const pointAttributes: Readonly<Record<number, number>> = { 5: 7, 7: 7, 9: 9, 10: 1, 11: 7 };

function randomMetric(random: Random): Buffer {
  const data = Number(oneOf(Object.keys(pointAttributes), random));
  const points = Array.from({ length: Math.floor(random() * 4) }, () =>
    bytesField(
      1,
      Buffer.concat([fixedField(3, 5n), ...randomAttributes(random, pointAttributes[data]!, 3)]),
      extra(random),
    ),
  );
  const fields = [bytesField(1, oneOf(["requests", "requests_total", "queue"], random))];
  fields.push(bytesField(data, Buffer.concat([...points, ...unknownFields(random)]), extra(random)));
  return shuffled(fields, random);
}

const recordOf = { logs: randomLog, traces: randomSpan, metrics: randomMetric };

/** A body with so many resources at most. */
export function randomBody(random: Random, signal: OtlpSignal, resources = 4): Buffer {
  const makeScope = () => {
    const count = random() < 0.05 ? 0 : 1 + Math.floor(random() * 6);
    const records = Array.from({ length: count }, () =>
      bytesField(2, recordOf[signal](random), extra(random)),
    );
    const scope = [bytesField(1, oneOf(["winston", "http", ""], random)), bytesField(2, "3.1")];
    const fields = [...records, ...unknownFields(random)];
    if (random() < 0.7)
      fields.unshift(bytesField(1, Buffer.concat([...scope, ...randomAttributes(random, 3, 2)])));
    if (random() < 0.3) fields.push(bytesField(3, "https://opentelemetry.io/schemas/1.24.0"));
    return bytesField(2, shuffled(fields, random), extra(random));
  };
  const makeResource = () => {
    const scopes = Array.from({ length: Math.floor(random() * 3.5) }, makeScope);
    const fields = [...scopes, ...unknownFields(random)];
    if (random() < 0.9) {
      const resource = shuffled([...randomAttributes(random, 1, 5), ...unknownFields(random)], random);
      fields.unshift(bytesField(1, resource, extra(random)));
    }
    return bytesField(1, shuffled(fields, random), extra(random));
  };
  return Buffer.concat(list(makeResource, random, resources));
}
