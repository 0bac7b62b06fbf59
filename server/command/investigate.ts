/** `svc investigate`: prints which service causes what happens in a window, and what speaks for it. */

import { openClient, postJson } from "./client/client.ts";
import type { Command } from "./flags/flag.ts";
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
  json: jsonFlag,
  ...serverFlags,
} as const;

interface Evidence {
  sentence: string;
  query: string;
  message?: string;
  traceId?: string;
}

interface Answer {
  suspects: { service: string; kind: string; score: number; evidence: Evidence[] }[];
  spans: number;
  logs: number;
}

export const investigate: Command<typeof flags> = {
  name: "investigate",
  summary: "says which service causes what happens in a window",
  operands: "",
  flags,
  details: [
    "The window is compared with the hour before it. The strongest evidence comes first: each sentence stands above the",
    "query that shows its rows. Without suspects, nothing that is looked at differs from the hour before.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 0) throw new UsageError(`investigate takes flags alone, got "${operands[0]}"`);
    const client = await openClient(settings);
    const body = { startTime: settings.from, endTime: settings.to };
    const answer = await postJson<Answer>(client, "/api/v1/investigations", body);
    if (settings.json) await writeLines([escapeJson(JSON.stringify(answer))]);
    else await writeLines(describe(answer).map(escapeText));
    return 0;
  },
};

function describe({ suspects, spans, logs }: Answer): string[] {
  const read = `${spans.toLocaleString("en")} spans and ${logs.toLocaleString("en")} logs were read.`;
  if (suspects.length === 0) return [`Nothing differs from the hour before. ${read}`];
  return [
    ...suspects.flatMap(({ service, kind, score, evidence }, i) => [
      `${i + 1}. ${service === "" ? "(no service name)" : service}: ${kind}, ${score.toFixed(2)}`,
      ...evidence.flatMap(({ sentence, query, message, traceId }) => [
        `   ${sentence}`,
        `     ${query}`,
        ...(message === undefined ? [] : [`     e.g. ${message}`]),
        ...(traceId === undefined ? [] : [`     trace ${traceId}`]),
      ]),
    ]),
    read,
  ];
}
