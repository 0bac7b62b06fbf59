/** `svc alerts`: runs unit tests of alerts on made-up series, and replays alerts over stored data. */

import { readFile } from "node:fs/promises";
import type { replayAlert } from "../alerts/alert-file.ts";
import { openClient, postJson } from "./client/client.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { serverFlags, switchFlag, timeFlag } from "./flags/shared-flags.ts";
import { parseAge, UsageError } from "./flags/units.ts";
import type { SeriesAnswer } from "./output/series-chart.ts";
import { escapeJson, escapeLine } from "./output/terminal.ts";

const flags = {
  from: { ...timeFlag, help: "start of a replay, inclusive", default: "-1h" },
  to: { ...timeFlag, help: "end of a replay: buckets that end later are not judged", default: "now" },
  json: { ...switchFlag, help: "prints one JSON object a transition" },
  ...serverFlags,
} as const;

export const alerts: Command<typeof flags> = {
  name: "alerts",
  summary: "tries alerts on made-up series, and runs them over stored data",
  operands: "test|replay FILE",
  output: "report",
  flags,
  details: [
    "svc alerts test FILE                    runs the unit tests of a YAML file; the exit code is 1 where one fails",
    "svc alerts replay FILE --from -1d       prints the transitions that the alert in the file would have made",
  ],
  run: async (settings, [action, ...operands]) => {
    const [file, ...more] = operands;
    if ((action !== "test" && action !== "replay") || file === undefined || more.length > 0) {
      throw new UsageError("alerts takes test or replay and one file");
    }
    const text = await readText(file);
    return action === "test" ? runTests(text) : replay(settings, text);
  },
};

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

async function runTests(text: string): Promise<number> {
  const { runAlertTests } = await import("../alerts/alert-file.ts");
  const results = await runAlertTests(text, parseAge);
  for (const { name, failures } of results) {
    process.stdout.write(`${failures.length === 0 ? "ok  " : "FAIL"} ${escapeLine(name)}\n`);
    for (const failure of failures) process.stdout.write(`     ${escapeLine(failure)}\n`);
  }
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  process.stdout.write(`${results.length} tests, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

async function replay(settings: Settings<typeof flags>, text: string): Promise<number> {
  const { readAlert, replayAlert } = await import("../alerts/alert-file.ts");
  const alert = readAlert(text);
  const client = await openClient(settings);
  const range = { fromMs: settings.from, toMs: settings.to };
  const transitions = await replayAlert(alert, range, async ({ query, bucketSeconds, fromMs, toMs }) => {
    const body = { query, startTime: fromMs, endTime: toMs - 1, bucketSize: bucketSeconds };
    return (await postJson<SeriesAnswer>(client, "/api/v1/query/timeseries", body)).series;
  });
  for (const transition of transitions) {
    process.stdout.write(
      `${settings.json ? escapeJson(JSON.stringify(transition)) : escapeLine(formatTransition(transition))}\n`,
    );
  }
  if (!settings.json) process.stdout.write(`${transitions.length} transitions\n`);
  return 0;
}

type Transition = Awaited<ReturnType<typeof replayAlert>>[number];

function formatTransition({ atMs, rule, labels, from, to, decided, why }: Transition): string {
  const instance = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const value = decided.value === null ? "no data" : String(decided.value);
  return `${new Date(atMs).toISOString()} ${from ?? "new"} → ${to}  ${[rule, ...instance].join(" ")}  ${value}  (${why})`;
}
