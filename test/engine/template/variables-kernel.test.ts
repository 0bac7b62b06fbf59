/** The variables of messages, encoded in WebAssembly, against those encoded in TypeScript: all bytes are equal. */
import { describe, expect, test } from "vitest";
import { BlockMemory } from "../../../engine/kernels/block-memory.ts";
import { SlotKind } from "../../../engine/kernels/decoding.ts";
import { encodeVariables } from "../../../engine/template/message-encoding.ts";
import { tokenizeMessages } from "../../../engine/template/tokenizer.ts";
import { tokenizeIn } from "../../../engine/template/tokenizer-kernel.ts";
import type { RepeatableAttribute } from "../../../engine/template/variables/repeatable-attribute.ts";
import type { EncodedVariables } from "../../../engine/template/variables/variable-columns.ts";
import { encodeVariablesIn } from "../../../engine/template/variables/variables-kernel.ts";
import { toTextVector } from "../../../engine/vector/text.ts";
import { generateBatches } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { makeKeyedRows } from "../keyed-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function toPlain({ kinds, classes, filter, groups }: EncodedVariables) {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
  return {
    ...{ kinds: hex(kinds), classes: hex(classes), filter: hex(filter) },
    groups: groups.map(({ name, payload, filter: own }) => ({
      ...{ name, rows: payload.rows, filter: hex(own) },
      buffers: payload.buffers.map(hex),
    })),
  };
}

function check(messages: readonly string[], attributes: readonly RepeatableAttribute[]): EncodedVariables {
  const text = toTextVector(messages);
  const memory = BlockMemory.take();
  const places = tokenizeIn(memory, text, messages.length)!;
  const tokenized = tokenizeMessages(text);
  const { templates } = tokenized;
  const offsets = new Uint32Array(templates.length + 1);
  for (const [i, template] of templates.entries()) offsets[i + 1] = offsets[i]! + template.length;
  const found = encodeVariablesIn({ memory, places }, Buffer.concat(templates), offsets, attributes);
  memory.giveBack(1 << 28);
  expect(toPlain(found)).toEqual(toPlain(encodeVariables(tokenized, attributes)));
  return found;
}

/** The texts as an attribute's column; `undefined` for rows without it. */
function toAttribute(key: string, texts: readonly (string | undefined)[]): RepeatableAttribute {
  const values = [...new Set(texts.filter((text) => text !== undefined))];
  const codeOf = new Map(values.map((value, code) => [value, code]));
  const codes = Int32Array.from(texts, (text) => (text === undefined ? -1 : codeOf.get(text)!));
  return { key, values: toTextVector(values), codes };
}

describe(`variables (SVC_SEED=${seed})`, () => {
  test.each([
    ["system", ["trace_id", "span_id", "k8s.pod.name"]],
    ["company", ["trace_id", "span_id", "k8s.pod.name"]],
    ["wide", ["user.name", "data.SubjectUserName", "data.ProcessId", "data.ProcessName", "data.IpPort"]],
  ] as const)("of generated messages of %s", (profile, keys) => {
    const rows = [...generateBatches({ profile, seed, rows: 20_000 }, 20_000)].flat();
    const attributes = keys.map((key) =>
      toAttribute(
        key,
        rows.map((row) => row.attributes[key]),
      ),
    );
    const messages = rows.map(({ message }) => message);
    expect(new Set(check(messages, attributes).kinds).size).toBeGreaterThan(4);
  });

  test("of lines `Key: value`, many of which are attributes", () => {
    const kinds = new Set<number>();
    for (let number = 0; number < 40; number++) {
      const rows = makeKeyedRows(number, seed);
      const keys = [...new Set(rows.flatMap(({ attributes }) => Object.keys(attributes)))];
      const attributes = keys.map((key) =>
        toAttribute(
          key,
          rows.map((row) => row.attributes[key]),
        ),
      );
      for (const kind of check(
        rows.map(({ message }) => message),
        attributes,
      ).kinds)
        kinds.add(kind);
    }
    expect(kinds).toContain(SlotKind.repeated);
  });

  test("of every kind, in numbers around those at which the encoding changes", () => {
    const random = new Random(seed);
    for (let run = 0; run < 60; run++) {
      const pool = Array.from({ length: 1 + random.below(12) }, () => drawValue(random));
      const templates = Array.from({ length: 1 + random.below(4) }, (_, i) => {
        const [a, b] = [random.below(drawers.length), random.below(drawers.length)];
        return (value: (of: number) => string) =>
          `${words[i]}${value(a)} (${value(b)}) ${words[(i + 1) % words.length]}`;
      });
      const rows = 1 + random.below(run % 10 === 0 ? 20_000 : 300);
      const ids: (string | undefined)[] = [];
      const messages = Array.from({ length: rows }, () => {
        const value = (of: number) => (of === 0 ? random.pick(pool) : drawers[of]!(random));
        const id = random.below(50) === 0 ? undefined : random.hex(16);
        ids.push(id);
        const message = random.pick(templates)(value);
        return random.below(200) === 0 ? "\xff as it is" : `${message} id=${id ?? "none0"}`;
      });
      check(messages, [toAttribute("other", ids.toReversed()), toAttribute("id", ids)]);
    }
  });

  test("with runs of digits of all lengths, in either case, around the sixty-four bytes that are read at once", () => {
    const random = new Random(seed + 2);
    const run = () => {
      const length = 1 + random.below(20);
      const digits = random.hex(length);
      const kinds = [digits, digits.toUpperCase(), digits.replace(/[a-f]/g, "7"), digits.replace(/\d/g, "b")];
      return random.pick(kinds);
    };
    const messages = Array.from({ length: 5_000 }, (_, i) => {
      const runs = Array.from({ length: 1 + (i % 9) }, () => run() + random.pick(["-", "_", ".", "g", "é"]));
      // A token is a variable where it has a digit.
      return `id 0${runs.join("")}${random.hex(i % 13)}`.slice(0, 3 + 1 + (i % 150));
    });
    check(messages, []);
  });

  test("of messages that are only variables, empty, or long", () => {
    const random = new Random(seed + 1);
    const long = random.hex(3_000);
    check(["", "", "7", "8", long, `${long}x`, "é7", "\u{1f600}9 é", "no variable"], []);
    check(
      Array.from({ length: 40_000 }, (_, i) => `${i % 3 === 0 ? random.hex(32) : i}`),
      [],
    );
  });
});

const words = ["user ", "Bearbeitet größer ", "GET /api/v1/", "took=", "x"];
/** Values of every shape; the first is drawn from a small pool instead. */
const drawers: readonly ((random: Random) => string)[] = [
  () => "",
  (random) => String(random.below(1_000)),
  (random) => String(random.below(2 ** 31) * 1_048_576 + random.below(1_048_576)),
  (random) => `10.${random.below(256)}.${random.below(256)}.1`,
  (random) => random.hex(8),
  (random) => random.hex(32),
  (random) => random.hex(1 + random.below(20)),
  (random) => random.uuid(),
  (random) => `00${random.below(90)}`,
  (random) => `v${random.below(9)}.${random.pick(["alpha", "beta", "Gamma"])}`,
  (random) => Array.from({ length: 9 }, () => random.pick([..."abcxyzKLM7"])).join(""),
  (random) => `${random.below(10)}${"é".repeat(random.below(4))}`,
  (random) => `${"9".repeat(random.below(20))}${random.hex(random.below(300))}1`,
];

function drawValue(random: Random): string {
  return drawers[1 + random.below(drawers.length - 1)]!(random);
}
