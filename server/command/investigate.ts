/** `svc investigate`: prints which service causes what happens in a window, and what speaks for it. */

import type { InvestigationAnswer, StatedSuspect, StoredInvestigation } from "../model/investigation.ts";
import { askJson, openClient, postJson } from "./client/client.ts";
import { type Command, parseText, takeLast } from "./flags/flag.ts";
import { jsonFlag, serverFlags, timeFlag } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { writeLines } from "./output/lines.ts";
import { escapeJson, escapeText } from "./output/terminal.ts";

const flags = {
  from: {
    ...timeFlag,
    help: "start of the window, inclusive: -15m, 2026-01-29T08:42:00Z or Unix milliseconds; best when it began",
    default: "-5m",
  },
  to: { ...timeFlag, help: "end of the window, inclusive; less than an hour later", default: "now" },
  query: {
    placeholder: "QUERY",
    help: 'compares the traces of the logs or spans that it finds alone, such as traces{status_code="error"}',
    parse: takeLast(parseText),
  },
  trace: {
    placeholder: "ID",
    help: "compares this trace, instead of a window",
    parse: takeLast(parseText),
  },
  id: {
    placeholder: "ID",
    help: "prints this investigation instead, such as one that an alert asked for",
    parse: takeLast(parseText),
  },
  json: jsonFlag,
  ...serverFlags,
} as const;

const path = "/api/v1/investigations";
/** Less likely suspects are counted alone, but for the first one. */
const shownConfidenceMin = 0.1;

export const investigate: Command<typeof flags> = {
  name: "investigate",
  summary: "says which service causes what happens in a window",
  operands: "",
  output: "answer",
  flags,
  details: [
    "The window is compared with the hour before it. The most likely suspect comes first: each sentence stands above the",
    "query that shows its rows.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 0) throw new UsageError(`investigate takes flags alone, got "${operands[0]}"`);
    const client = await openClient(settings);
    const { from: startTime, to: endTime, query, trace: traceId } = settings;
    if (traceId !== null && query !== null) throw new UsageError("--trace and --query exclude each other");
    const body =
      traceId === null ? { startTime, endTime, ...(query === null ? {} : { query }) } : { traceId };
    const found =
      settings.id === null
        ? await postJson<StoredInvestigation>(client, path, body)
        : await askJson<StoredInvestigation>(client, {
            method: "GET",
            path: `${path}/${encodeURIComponent(settings.id)}`,
          });
    if (settings.json) await writeLines([escapeJson(JSON.stringify(found))]);
    else await writeLines(describe(found).map(escapeText));
    return 0;
  },
};

function describe({ id, startTime, endTime, problem, answer }: StoredInvestigation): string[] {
  const head = `${time(startTime)} to ${time(endTime)}, investigation ${id}`;
  if (answer === null) return [`It failed: ${problem ?? "no answer"}`, head];
  const shown = answer.suspects.filter(({ confidence }, i) => i === 0 || confidence >= shownConfidenceMin);
  const hidden = answer.suspects.length - shown.length;
  return [
    `${answer.summary}.`,
    head,
    ...shown.flatMap(describeSuspect),
    ...(hidden === 0 ? [] : ["", `${hidden} more suspects are less likely; --json has them.`]),
    ...list(
      "What changed, the first change first",
      answer.timeline.map(({ at, sentence }) => `${time(at)} ${sentence}`),
    ),
    ...list(
      "Who suffers",
      answer.affected.map(({ sentence }) => sentence),
    ),
    ...list("As usual", answer.normal),
    ...list(
      "Next",
      answer.nextSteps.map(({ sentence, query }) =>
        query === undefined ? sentence : `${sentence}: ${query}`,
      ),
    ),
    ...list("In words of a language model", [
      ...(answer.narrative ?? []).map(({ sentence, evidence }) => `${sentence} [${evidence.join(", ")}]`),
      ...(answer.asked ?? []).map(({ id, query, sentence }) => `[${id}] ${sentence}: ${query}`),
    ]),
    "",
    describeRead(answer),
  ];
}

function describeSuspect(suspect: StatedSuspect, i: number): string[] {
  const { service, kind, confidence, operation, caller, pod, node, evidence } = suspect;
  const places = { operation, caller, pod, node };
  const place = Object.entries(places).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  return [
    "",
    `${i + 1}. ${service === "" ? "(no service name)" : service}: ${kind}, ${Math.round(confidence * 100)} % likely`,
    ...(place.length === 0 ? [] : [`   ${place.join(", ")}`]),
    ...evidence.flatMap(({ id, sentence, query, message, traceId }, at) => [
      `   [${id}] ${sentence}`,
      `     ${query}`,
      ...(message === undefined || message === evidence[at - 1]?.message ? [] : [`     e.g. ${message}`]),
      ...(traceId === undefined || traceId === evidence[at - 1]?.traceId ? [] : [`     trace ${traceId}`]),
    ]),
  ];
}

function describeRead({ read: { spans, logs, series, resources }, ms }: InvestigationAnswer): string {
  const count = (number: number) => number.toLocaleString("en");
  const rows = `${count(spans)} spans, ${count(logs)} logs, ${count(series)} series and ${count(resources)} states of Kubernetes objects`;
  return `${rows} were read in ${(ms / 1_000).toFixed(1)} s.`;
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
