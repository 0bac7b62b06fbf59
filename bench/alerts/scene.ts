/** Ten thousand alerts over the logs of a hundred services, and those logs. */
import { generateBatches } from "../../fixtures/logs.ts";
import { Random } from "../../fixtures/random.ts";
import { type GeneratedRow, toJsonLine } from "../../fixtures/row.ts";

export const bucketSeconds = 60;
export const selectorCount = 2_000;
/** Of the newest so many points, so many must breach. */
const windowPoints = 5;
const breachingPoints = 3;
const services = Array.from({ length: 100 }, (_, i) => `/k8s/shop/service-${i}`);
const levels = ["fatal", "error", "warn", "info", "debug"];
const zones = ["a", "b", "c", "d"];

export interface Selector {
  service: string;
  level: string;
  zone: string;
}

export const selectors: readonly Selector[] = services.flatMap((service) =>
  levels.flatMap((level) => zones.map((zone) => ({ service, level, zone }))),
);

/** As the API takes it. */
export interface SceneAlert {
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

/** Thresholds over what a selector has in a bucket on average: some are crossed at times. */
export function thresholdOf(alert: number, rowsPerBucket: number): number {
  const above = 1.3 + 0.1 * (Math.floor(alert / selectorCount) % 20);
  return Math.ceil((above * rowsPerBucket) / selectorCount);
}

/** Each selector in its turn, so that the first 2,000 have one alert each. */
export function sceneAlert(number: number, rowsPerBucket: number): SceneAlert {
  const { service, level, zone } = selectors[number % selectorCount]!;
  const query = `count(logs{service.name="${service}", log_level="${level}", zone="${zone}"})`;
  const threshold = thresholdOf(number, rowsPerBucket);
  const persistenceSettings = {
    datapointsToAlarm: breachingPoints,
    datapointsInEvaluationWindow: windowPoints,
  };
  return {
    metadata: { name: `alert ${number}` },
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

/** Rows of a company's services under the names of the scene; `timeMsOf` undefined leaves them without a time. */
export function* sceneRows(
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

/** JSON lines that get the time at which they arrive. */
export function* timelessBodies(bodies: number, bodyRows: number): Generator<Buffer> {
  for (const batch of sceneRows(bodies * bodyRows, bodyRows, () => 0)) {
    const lines = batch.map((row) => toJsonLine(row).replace(/"timeUnixNano":"\d+",/, ""));
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
}
