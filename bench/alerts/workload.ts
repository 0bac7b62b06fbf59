/** The alerts of the benchmark, over the logs of a hundred services, and those logs. */
import { generateBatches } from "../../fixtures/logs.ts";
import { Random } from "../../fixtures/random.ts";
import { type GeneratedRow, toJsonLine } from "../../fixtures/row.ts";

export const bucketSeconds = 60;
export const selectorCount = 2_000;
/** An alert fires when three of the newest five points breach. */
const windowPoints = 5;
const breachingPoints = 3;
const services = Array.from({ length: 100 }, (_, i) => `/k8s/shop/service-${i}`);
const levels = ["fatal", "error", "warn", "info", "debug"];
const zones = ["a", "b", "c", "d"];

export interface AlertSelector {
  service: string;
  level: string;
  zone: string;
}

export const selectors: readonly AlertSelector[] = services.flatMap((service) =>
  levels.flatMap((level) => zones.map((zone) => ({ service, level, zone }))),
);

/** An alert in the form of the API. */
export interface BenchAlert {
  metadata: { name: string };
  timeseries: {
    expression: { svcQLTimeseries: { query: string; bucketSize: number } };
    evaluationRules: {
      name: string;
      static: {
        operators: { operator: "greaterThan"; threshold: number }[];
        persistenceSettings: { datapointsToAlarm: number; datapointsInEvaluationWindow: number };
      };
    }[];
  };
}

/** Thresholds are 1.3 to 3.2 times the mean rows of a selector in a bucket, so some are crossed at times. */
export function thresholdOf(alert: number, rowsPerBucket: number): number {
  const above = 1.3 + 0.1 * (Math.floor(alert / selectorCount) % 20);
  return Math.ceil((above * rowsPerBucket) / selectorCount);
}

/** Alerts take the selectors in turn, so the first 2,000 have a selector each. */
export function makeBenchAlert(index: number, rowsPerBucket: number): BenchAlert {
  const { service, level, zone } = selectors[index % selectorCount]!;
  const query = `count(logs{service.name="${service}", log_level="${level}", zone="${zone}"})`;
  const threshold = thresholdOf(index, rowsPerBucket);
  const persistenceSettings = {
    datapointsToAlarm: breachingPoints,
    datapointsInEvaluationWindow: windowPoints,
  };
  return {
    metadata: { name: `alert ${index}` },
    timeseries: {
      expression: { svcQLTimeseries: { query, bucketSize: bucketSeconds } },
      evaluationRules: [
        {
          name: "many",
          static: { operators: [{ operator: "greaterThan", threshold }], persistenceSettings },
        },
      ],
    },
  };
}

/** Generates rows of profile `company`, each with a random selector and the time that `timeMsOf` gives. */
export function* generateAlertRows(
  rows: number,
  batchRows: number,
  timeMsOf: (row: number) => number,
): Generator<GeneratedRow[]> {
  const random = new Random(7);
  let made = 0;
  for (const batch of generateBatches({ profile: "company", seed: 3, rows }, batchRows)) {
    yield batch.map((row): GeneratedRow => {
      const { service, level, zone } = random.pick(selectors);
      const attributes = { ...row.attributes, "service.name": service, zone };
      return { ...row, timeNs: BigInt(Math.floor(timeMsOf(made++))) * 1_000_000n, level, attributes };
    });
  }
}

/** Generates bodies of JSON lines without times: the server gives them the time of arrival. */
export function* generateUntimedBodies(bodies: number, bodyRows: number): Generator<Buffer> {
  for (const batch of generateAlertRows(bodies * bodyRows, bodyRows, () => 0)) {
    const lines = batch.map((row) => toJsonLine(row).replace(/"timeUnixNano":"\d+",/, ""));
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
}
