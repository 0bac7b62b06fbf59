/** Exclusion rules on OTLP bodies against a naive matcher on decoded records. */

import { describe, expect, test } from "vitest";
import { makeRuleSet } from "../../../server/kubernetes/gateway/rule-set.ts";
import { filterProtobuf } from "../../../server/kubernetes/gateway/wire/wire-filter.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { randomOf } from "../../server/control/random.ts";
import { filterNaively } from "./naive-filter.ts";
import { type OtlpSignal, randomBody, randomRules } from "./random-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const recordsTested = process.env.SVC_SOAK === "1" ? 2_000_000 : 30_000;
const signals: readonly OtlpSignal[] = ["logs", "traces", "metrics"];

describe(`rules on protobuf (SVC_SEED=${seed})`, () => {
  test.each(signals)(
    "leave out of %s what a naive matcher leaves out, and keep the bytes of the rest",
    (signal) => {
      const random = randomOf(seed);
      let records = 0;
      let dropped = 0;
      for (let i = 0; records < recordsTested / signals.length; i++) {
        const rules = randomRules(random, signal);
        const { rules: set, rejected } = makeRuleSet(rules, undefined, "main");
        expect(rejected).toEqual([]);
        const fields = set.fieldsOf(signal);
        for (let j = 0; j < 10; j++) {
          const body = randomBody(random, signal);
          const expected = filterNaively(body, signal, rules);
          const found = filterProtobuf(body, signal, fields);
          const rest = Buffer.from(found.body ?? []);
          if (!rest.equals(expected.body)) {
            expect({ rules, body: rest.toString("hex") }, `body ${i}.${j}`).toEqual({
              rules,
              body: expected.body.toString("hex"),
            });
          }
          const counts = new Map<string, number>();
          for (const [k, rows] of found.dropped.entries()) {
            const { rule } = fields.exclusions[k]!;
            counts.set(rule, (counts.get(rule) ?? 0) + rows);
          }
          expect([...counts.values()].reduce((sum, rows) => sum + rows, 0)).toBe(expected.dropped);
          for (const [rule, rows] of counts)
            expect(rows).toBeLessThanOrEqual(expected.matched.get(rule) ?? 0);
          records += expected.records;
          dropped += expected.dropped;
        }
      }
      expect(dropped).toBeGreaterThan(records / 20);
      expect(dropped).toBeLessThan((records * 19) / 20);
    },
  );

  test.each(signals)(
    "of %s that are cut short or mutated are refused or filtered, and never crash",
    (signal) => {
      const random = randomOf(seed);
      let refused = 0;
      const times = recordsTested / 20;
      for (let i = 0; i < times; i++) {
        const { rules } = makeRuleSet(randomRules(random, signal), undefined, "main");
        const body = randomBody(random, signal, 2);
        const hurt = i % 3 === 0 ? body.subarray(0, Math.floor(random() * body.length)) : Buffer.from(body);
        if (i % 3 === 1)
          for (let j = 0; j < 3; j++) hurt[Math.floor(random() * hurt.length)] = random() * 256;
        if (i % 3 === 2) for (let j = 0; j < hurt.length; j++) if (random() < 0.5) hurt[j] = random() * 256;
        try {
          const { body: rest } = filterProtobuf(hurt, signal, rules.fieldsOf(signal));
          expect(rest?.length ?? 0).toBeLessThanOrEqual(hurt.length);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
          expect((error as Refusal).status).toBe(400);
          refused++;
        }
      }
      expect(refused).toBeGreaterThan(times / 10);
    },
  );
});
