/** Ingestion rules and stamps of environments against a loop over rows, by themselves and through every protocol. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EncodedBatch, type FoundRow, openStore, type Store } from "../../../engine/index.ts";
import { type DecodedBody, decodeBody } from "../../../server/index.ts";
import { shareJson } from "../../../server/ingest/shared-memory-json.ts";
import { compileExclusions, type ExclusionRule, findExcludingRule } from "../../../server/model/exclusion.ts";
import { type RuleSignal, ruleSignals } from "../../../server/model/rule-signal.ts";
import { oneOf, type Random, randomOf } from "../control/random.ts";
import { makePlainTask } from "../ingest/decode-task.ts";
import { clusters, naiveRule, naiveStamped, randomRules } from "../ingest/naive-rules.ts";
import { arrivalMs, type BodyForm, bodyForms, randomRow, type SentRow } from "../ingest/rule-bodies.ts";
import { readStoredRows } from "../ingest/stored-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const times = process.env.SVC_SOAK === "1" ? 20 : 1;

test(`the function says of each row what a loop says (SVC_SEED=${seed})`, () => {
  const random = randomOf(seed);
  let left = 0;
  for (let i = 0; i < 2_000 * times; i++) {
    const rules = randomRules(random);
    const signal = oneOf(ruleSignals, random);
    const compiled = compileExclusions(rules, signal);
    for (let j = 0; j < 5; j++) {
      const row = randomRow(random, j);
      const expected = naiveRule(rules, signal, row);
      if (expected !== undefined) left++;
      expect(findExcludingRule(compiled, row), JSON.stringify({ rules, signal, row })).toBe(expected);
    }
  }
  expect(left).toBeGreaterThan(500);
});

interface Sent {
  rules: ExclusionRule[];
  environment: string | null;
  rows: SentRow[];
}

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-rules-"));
  store = await openStore({ dir, threads: 1 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const excludableOf = (form: BodyForm): RuleSignal =>
  form.signal === "kubernetes_resources" ? "kubernetesResources" : form.signal;

/** `sent` null takes the rows as they come. */
function decoded(form: BodyForm, rows: readonly SentRow[], sent: Sent | null): DecodedBody & { ok: true } {
  const result = decodeBody({
    content:
      form.signal === "metrics"
        ? { signal: "metrics", activeSeries: store.seriesCensus() }
        : { signal: form.signal },
    format: form.format,
    ...makePlainTask(form.body(rows)),
    arrivalMs,
    ...(sent === null
      ? {}
      : { admission: { settings: {}, environment: sent.environment, rules: shareJson(sent.rules) } }),
  });
  if (!result.ok) throw new Error(result.message);
  expect(result.refused).toEqual([]);
  return result;
}

const numberOf = ({ attributes }: { attributes: Readonly<Record<string, string>> }) =>
  Number(attributes.n ?? attributes["ex.n"]);

function shownRow({ timeNs, level, message, attributes }: FoundRow) {
  return { timeNs, level, message, attributes: { ...attributes } };
}

const byNumber = (rows: readonly FoundRow[]) => new Map(rows.map((row) => [numberOf(row), shownRow(row)]));

let numbers = 0;

function randomSent(random: Random): Sent {
  return {
    rules: randomRules(random),
    environment: random() < 0.5 ? null : oneOf(clusters, random),
    rows: Array.from({ length: 30 }, () => randomRow(random, numbers++)),
  };
}

/** Rows by the rule that leaves them out. */
function counted(left: readonly (string | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const rule of left) if (rule !== undefined) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return counts;
}

describe(`through every protocol (SVC_SEED=${seed})`, () => {
  test.each(["logs", "traces", "profiles", "kubernetes_resources"] as const)("rows of %s", async (signal) => {
    const random = randomOf(seed);
    const plain: EncodedBatch[] = [];
    const bodies: { sent: Sent; form: BodyForm; result: DecodedBody & { ok: true } }[] = [];
    const forms = bodyForms.filter((each) => each.signal === signal);
    // So many that some rows are left out and some are not, whatever the seed.
    const bodiesEach = Math.max(6, Math.ceil(40 / forms.length)) * times;
    for (const form of forms) {
      for (let i = 0; i < bodiesEach; i++) {
        const sent = randomSent(random);
        plain.push(decoded(form, sent.rows, null).batch);
        bodies.push({ sent, form, result: decoded(form, sent.rows, sent) });
      }
    }
    const asTheyCame = byNumber(await readStoredRows(signal, plain));
    const taken = byNumber(
      await readStoredRows(
        signal,
        bodies.map(({ result }) => result.batch),
      ),
    );
    const expected: typeof taken = new Map();
    for (const { sent, form, result } of bodies) {
      const left = sent.rows.map((row) => {
        const came = asTheyCame.get(numberOf(row))!;
        const stamped = { ...came, attributes: naiveStamped(came.attributes, sent.environment) };
        const rule = naiveRule(sent.rules, excludableOf(form), stamped);
        if (rule === undefined) expected.set(numberOf(row), stamped);
        return rule;
      });
      expect(new Map(result.dropped), form.format).toEqual(counted(left));
      // Senders of syslog do not send again, so equal bodies are different messages.
      expect(result.contentKey === null, form.format).toBe(form.format === "syslog");
    }
    expect(taken.size).toBe(expected.size);
    for (const [n, row] of expected) expect(taken.get(n)).toEqual(row);
    expect(expected.size).toBeGreaterThan(0);
    expect(expected.size).toBeLessThan(asTheyCame.size);
  });

  test("samples of metrics", async () => {
    const random = randomOf(seed);
    const own = ["environment", "k8s.cluster.name"];
    const keys = ["n", ...own, ...own.map((key) => `attributes.${key}`)];
    const expected = new Map(keys.map((key) => [key, new Map<string, number>()]));
    for (const form of bodyForms.filter((each) => each.signal === "metrics")) {
      for (let i = 0; i < 6 * times; i++) {
        const sent = randomSent(random);
        const result = decoded(form, sent.rows, sent);
        const left = sent.rows.map(({ name, attributes }) => {
          const row = { name, attributes: naiveStamped(attributes, sent.environment) };
          const rule = naiveRule(sent.rules, "metrics", row);
          if (rule !== undefined) return rule;
          for (const key of keys) {
            const text = row.attributes[key];
            const counts = expected.get(key)!;
            if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + 1);
          }
          return undefined;
        });
        expect(new Map(result.dropped), form.format).toEqual(counted(left));
        await store.appendEncoded(result.batch, {});
      }
    }
    const range = { fromNs: 0n, toNs: 2n ** 62n, steps: [], limit: 100_000 };
    for (const key of keys) {
      const found = await store.seriesLabels({ ...range, key });
      const counts = new Map(
        found.filter(({ text }) => text !== "").map(({ text, series }) => [text, series]),
      );
      expect(counts, key).toEqual(expected.get(key));
    }
    expect(expected.get("n")!.size).toBeGreaterThan(0);
  });
});
