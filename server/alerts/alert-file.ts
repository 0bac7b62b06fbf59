/** Alerts in files: reads them as the API does, tests them on given series, and replays them over stored rows. */

import { parse as parseYaml } from "yaml";
import * as z from "zod";
import { checkInput } from "../api/validation.ts";
import { alertShape, checkAlert } from "../model/alert.ts";
import { strictObject } from "../model/schema.ts";
import { shapeOf } from "./query/query-shape.ts";
import {
  type AlertDefinition,
  bucketMsOf,
  queryOf,
  windowBuckets,
  withId,
} from "./state/alert-definition.ts";
import { instanceKey, worstState } from "./state/alert-state.ts";
import { runDry } from "./state/dry-run.ts";
import type { Transition } from "./state/judgement.ts";
import type { ReadSeries } from "./state/read-series.ts";

const labelsShape = z.record(z.string(), z.string());
const stateShape = z.enum(["ok", "firing", "noData"]);

const testShape = strictObject({
  name: z.string(),
  /** The alert to test. Without it, the file's alert is tested. */
  alert: alertShape.optional(),
  input: z.array(strictObject({ labels: labelsShape.optional(), values: z.union([z.string(), z.number()]) })),
  expect: z
    .array(
      strictObject({
        /** Time since the begin of the input, such as `5m`. The buckets that have ended by then are judged. */
        at: z.string(),
        /** The worst state of all instances. */
        state: stateShape.optional(),
        instances: z
          .array(
            strictObject({ labels: labelsShape.optional(), rule: z.string().optional(), state: stateShape }),
          )
          .optional(),
      }),
    )
    .min(1),
});

const fileShape = strictObject({ alert: alertShape.optional(), tests: z.array(testShape).min(1) });

type AlertTest = z.infer<typeof testShape>;

export interface TestResult {
  name: string;
  /** One line for each failure. */
  failures: string[];
}

/**
 * Runs the tests of a file. `parseAge` gives the milliseconds of a text such as `5m`. Throws Refusal or Error, one
 * sentence for people, if the file is invalid.
 */
export async function runAlertTests(text: string, parseAge: (text: string) => number): Promise<TestResult[]> {
  const file = checkInput(fileShape, parseYaml(text) as unknown, "");
  const results: TestResult[] = [];
  for (const [i, test] of file.tests.entries()) {
    const given = test.alert ?? file.alert;
    if (given === undefined)
      throw new Error(`tests[${i}].alert is required where the file has no alert of its own`);
    checkAlert(given, test.alert === undefined ? "alert" : `tests[${i}].alert`, () => true);
    const alert = withId(given, "test");
    results.push({ name: test.name, failures: await findFailures(alert, test, `tests[${i}]`, parseAge) });
  }
  return results;
}

/** Reads an alert as the API accepts it: the alert itself, or an object with the member `alert`. Throws Refusal. */
export function readAlert(text: string): AlertDefinition {
  const value = parseYaml(text) as unknown;
  const isWrapped = typeof value === "object" && value !== null && "alert" in value;
  const alert = checkInput(alertShape, isWrapped ? value.alert : value, "alert");
  checkAlert(alert, "alert", () => true);
  return withId(alert, "replay");
}

/** Returns the transitions that the alert would have made in a range of time. */
export async function replayAlert(
  alert: AlertDefinition,
  range: { fromMs: number; toMs: number },
  read: (request: {
    query: string;
    bucketSeconds: number;
    fromMs: number;
    toMs: number;
  }) => Promise<readonly ReadSeries[]>,
): Promise<Transition[]> {
  const { unlabelled } = shapeOf(queryOf(alert).query);
  const query = queryOf(alert);
  const { transitions } = await runDry(alert, { ...range, unlabelled }, (fromMs, toMs) =>
    read({ ...query, fromMs, toMs }),
  );
  return transitions;
}

async function findFailures(
  alert: AlertDefinition,
  { input, expect }: AlertTest,
  path: string,
  parseAge: (text: string) => number,
): Promise<string[]> {
  const bucketMs = bucketMsOf(alert);
  // The input begins late enough that the first window consists of empty buckets.
  const baseMs = windowBuckets(alert) * bucketMs;
  const series = input.map(({ labels = {}, values }, i): ReadSeries => {
    const points = parseValues(String(values), `${path}.input[${i}].values`).flatMap(
      (value, index): [number, number][] => {
        return value === null ? [] : [[baseMs + index * bucketMs, value]];
      },
    );
    return { labels, points };
  });
  const { unlabelled } = shapeOf(queryOf(alert).query);
  const read = async (fromMs: number, toMs: number) =>
    series.flatMap(({ labels, points }) => {
      const inRange = points.filter(([ms]) => ms >= fromMs && ms < toMs);
      return inRange.length === 0 ? [] : [{ labels, points: inRange }];
    });
  const failures: string[] = [];
  for (const { at, state, instances = [] } of expect) {
    const toMs = baseMs + parseAge(at);
    const dryRun = await runDry(alert, { fromMs: baseMs, toMs, unlabelled }, read);
    const worst = worstState(dryRun.state);
    if (state !== undefined && worst !== state) failures.push(`at ${at} the alert is ${worst}, not ${state}`);
    for (const { labels = {}, rule, state: expected } of instances) {
      const rules = dryRun.state.instances[instanceKey(labels)]?.rules ?? {};
      const names = rule === undefined ? alert.timeseries.evaluationRules.map(({ name }) => name) : [rule];
      for (const name of names) {
        const got = rules[name]?.state ?? "not there";
        if (got !== expected)
          failures.push(`at ${at} rule ${name} of ${JSON.stringify(labels)} is ${got}, not ${expected}`);
      }
    }
  }
  return failures;
}

/**
 * Parses values of successive buckets as Prometheus' unit tests write them. `1 2 _ 4`: `_` is a bucket without a point.
 * `1x3` is `1 1 1 1`, `_x3` is `_ _ _`, and `1+2x3` is `1 3 5 7`. `path`: the place in the file, for errors.
 */
export function parseValues(text: string, path: string): (number | null)[] {
  const number = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?";
  const form = new RegExp(`^(?:(_)|(${number})(?:([-+](?:\\d+\\.?\\d*|\\.\\d+))?x(\\d+))?)$`, "i");
  return text
    .trim()
    .split(/\s+/)
    .flatMap((word): (number | null)[] => {
      const [, missing] = /^_x(\d+)$/.exec(word) ?? [];
      if (missing !== undefined) return Array<null>(checkRepeats(Number(missing), path)).fill(null);
      const [whole, gap, first, step = "0", times = "0"] = form.exec(word) ?? [];
      if (whole === undefined)
        throw new Error(`${path} must be values such as "0 1x3 _ 2+1x5", got ${JSON.stringify(word)}`);
      if (gap !== undefined) return [null];
      return Array.from(
        { length: checkRepeats(Number(times), path) + 1 },
        (_, i) => Number(first) + i * Number(step),
      );
    });
}

const repeatsMax = 100_000;

function checkRepeats(times: number, path: string): number {
  if (times <= repeatsMax) return times;
  throw new Error(`${path} repeats a value more than ${repeatsMax} times`);
}
