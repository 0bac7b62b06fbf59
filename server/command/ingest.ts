/** `svc ingest`: sends files of JSON lines to a running server. */

import { randomUUID } from "node:crypto";
import { batchesOf } from "./batches.ts";
import type { Client } from "./client.ts";
import { ask, openClient } from "./client.ts";
import { type Command, one } from "./flag.ts";
import type { Input } from "./input.ts";
import { openInput } from "./input.ts";
import type { Done } from "./progress.ts";
import { count, openProgress } from "./progress.ts";
import type { Tally } from "./sender.ts";
import { emptyTally, sendAll } from "./sender.ts";
import { serverFlags } from "./shared-flags.ts";
import { safeLine } from "./terminal.ts";
import { UsageError } from "./units.ts";

const batchBytes = 2 * 1024 * 1024;
/** Below the server's cap for a body. */
const lineBytesMax = 16 * 1024 * 1024;
const idleMs = 1_000;
const refusalsShown = 10;
const interrupted = 130;

/** What the server takes in, as the last part of its path. */
const signals = ["logs", "spans", "metrics", "profiles", "kubernetes_resources"];

const flags = {
  signal: {
    value: "SIGNAL",
    help: `what the files hold: ${signals.join(", ")}`,
    default: "logs",
    parse: one((text) => {
      if (signals.includes(text)) return text;
      throw new UsageError(`one of ${signals.join(", ")}`);
    }),
  },
  ...serverFlags,
} as const;

export const ingest: Command<typeof flags> = {
  name: "ingest",
  summary: "sends files of JSON lines to a running server",
  operands: "FILE…",
  flags,
  details: [
    "Files may be plain, gzip or zstd, whatever they are called; - is standard input.",
    'A line is {"timestamp": ms, "log_level": …, "message": …, "attributes": {…}}, or has timeUnixNano for timestamp.',
    "The lines of other signals are shown in server/README.md.",
    "A file that is sent again within the hour adds nothing. The exit code is 0 only when no row was refused.",
  ],
  run: async (settings, files) => {
    if (files.length === 0) throw new UsageError("ingest takes one or more files, or - for standard input");
    const client = await openClient(settings);
    // A server that is not there at all is told at once, not after minutes of trying.
    await ask(client, { method: "GET", path: "/health" });
    const stop = new AbortController();
    process.once("SIGINT", () => stop.abort(new Error("interrupted")));
    let refused = 0;
    for (const file of files) {
      refused += (await ingestFile({ client, signal: settings.signal }, await openInput(file), stop.signal))
        .refused;
      if (stop.signal.aborted) return interrupted;
    }
    return refused === 0 ? 0 : 1;
  },
};

/** Where rows go, and as what. */
interface Receiver {
  client: Client;
  signal: string;
}

async function ingestFile(to: Receiver, input: Input, stop: AbortSignal): Promise<Tally> {
  const tally = emptyTally();
  const startMs = Date.now();
  const progress = openProgress("read");
  const timer = setInterval(() => progress.show(doneOf(input, tally)), 100);
  const batches = batchesOf(input.chunks, {
    targetBytes: batchBytes,
    lineBytesMax,
    idleMs: input.isLive ? idleMs : null,
    onLongLine: (line) => {
      tally.refused++;
      tally.refusals.push({ line, reason: `longer than ${count(lineBytesMax)} bytes` });
    },
  });
  try {
    await sendAll(batches, tally, {
      client: to.client,
      signal: stop,
      path: `/api/v1/ingest/${to.signal}`,
      // The same bytes in a file are the same rows; on standard input they may be new ones.
      scope: input.isLive ? randomUUID() : "file",
      onProblem: (problem) => progress.note(`${safeLine(problem)}; trying again`),
    });
  } catch (error) {
    if (!stop.aborted) throw new Error(stoppedText(input, tally, error));
  } finally {
    clearInterval(timer);
    progress.end();
  }
  process.stdout.write(summary(input, tally, Date.now() - startMs));
  return tally;
}

function doneOf(input: Input, tally: Tally): Done {
  const rows = tally.taken + tally.repeated + tally.refused;
  return { bytes: input.bytesRead, bytesTotal: input.bytesTotal, dataBytes: tally.bytes, rows };
}

function summary(input: Input, tally: Tally, elapsedMs: number): string {
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const rate = `${count(Math.round((tally.taken + tally.repeated) / seconds))} rows/s, ${(tally.bytes / 1e6 / seconds).toFixed(1)} MB/s`;
  const repeated = tally.repeated > 0 ? `, ${count(tally.repeated)} were there already` : "";
  const lines = [
    `${safeLine(input.name)}: ${count(tally.taken)} rows taken${repeated}, ${count(tally.refused)} refused in ${seconds.toFixed(1)} s (${rate})`,
  ];
  const first = tally.refusals.sort((a, b) => a.line - b.line).slice(0, refusalsShown);
  for (const { line, reason } of first) lines.push(`  line ${line}: ${safeLine(reason)}`);
  if (tally.refused > first.length) lines.push(`  and ${count(tally.refused - first.length)} more`);
  return `${lines.join("\n")}\n`;
}

function stoppedText(input: Input, tally: Tally, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `${safeLine(input.name)}: stopped after ${count(tally.taken)} rows: ${safeLine(reason)} (sending it again adds only what is missing)`;
}
