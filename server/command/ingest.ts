/** `svc ingest`: sends files of JSON lines to a running server, or stores them in a data folder that none has open. */

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { DirectLoad } from "../ingest/direct-load.ts";
import { batchesOf } from "./client/batches.ts";
import type { Client } from "./client/client.ts";
import { ask, openClient } from "./client/client.ts";
import type { InputFile } from "./client/input.ts";
import { openInput } from "./client/input.ts";
import type { Deliver, Tally } from "./client/sender.ts";
import { deliveryTo, emptyTally, keyOf, sendAll } from "./client/sender.ts";
import { type Command, one, onOrOff } from "./flags/flag.ts";
import { serverFlags } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import type { Done } from "./output/progress.ts";
import { count, openProgress } from "./output/progress.ts";
import { safeLine } from "./output/terminal.ts";

const batchBytes = 2 * 1024 * 1024;
/** Below the server's cap for a body. */
const lineBytesMax = 16 * 1024 * 1024;
const idleMs = 1_000;
const refusalsShown = 10;
const interrupted = 130;

/** What is taken in, as the last part of the server's path, and what it is stored as. */
const signalOf = {
  logs: "logs",
  spans: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetes_resources",
} as const;
type SignalName = keyof typeof signalOf;
const signals = Object.keys(signalOf) as SignalName[];

const flags = {
  signal: {
    value: "SIGNAL",
    help: `what the files hold: ${signals.join(", ")}`,
    default: "logs",
    parse: one((text) => {
      const found = signals.find((signal) => signal === text);
      if (found !== undefined) return found;
      throw new UsageError(`one of ${signals.join(", ")}`);
    }),
  },
  direct: {
    value: null,
    help: "stores the rows in the data folder (--data) itself, which no server may have open: the fastest way for much",
    default: "false",
    parse: one(onOrOff),
  },
  ...serverFlags,
} as const;

export const ingest: Command<typeof flags> = {
  name: "ingest",
  summary: "sends files of JSON lines to a running server, or stores them itself",
  operands: "FILE…",
  flags,
  details: [
    "Files may be plain, gzip or zstd, whatever they are called; - is standard input.",
    'A line is {"timestamp": ms, "log_level": …, "message": …, "attributes": {…}}, or has timeUnixNano for timestamp.',
    "The lines of other signals are shown in server/README.md.",
    "A file that is sent again within a day adds nothing, whole or in part, unless it went the other way (--direct) before.",
    "What goes in with --direct passes no ingestion rules and no limits, and is not stamped: those are the server's.",
    "The exit code is 0 only when no row was refused.",
  ],
  run: async (settings, files) => {
    if (files.length === 0) throw new UsageError("ingest takes one or more files, or - for standard input");
    const stop = new AbortController();
    process.once("SIGINT", () => stop.abort(new Error("interrupted")));
    const { signal } = settings;
    if (!settings.direct) {
      const client = await openClient(settings);
      // A server that is not there at all is told at once, not after minutes of trying.
      await ask(client, { method: "GET", path: "/health" });
      return ingestFiles((run) => overHttp(client, signal, run), files, stop.signal);
    }
    const { openDirectLoad } = await import("../ingest/direct-load.ts");
    const load = await openDirectLoad(resolve(settings.data), ({ message }) => {
      process.stderr.write(`${safeLine(message)}\n`);
    });
    try {
      return await ingestFiles((run) => intoFolder(load, signal, run), files, stop.signal);
    } finally {
      await load.close();
    }
  },
};

/** One file on its way. */
interface Run {
  /** Goes into the batches' keys. */
  scope: string;
  stop: AbortSignal;
  onProblem: (problem: string) => void;
}

type MakeDelivery = (run: Run) => Deliver;

function overHttp(client: Client, signal: SignalName, { scope, stop, onProblem }: Run): Deliver {
  return deliveryTo({ client, signal: stop, path: `/api/v1/ingest/${signal}`, scope, onProblem });
}

function intoFolder(load: DirectLoad, signal: SignalName, { scope, stop }: Run): Deliver {
  return (batch) => {
    stop.throwIfAborted();
    return load.take(signalOf[signal], batch.bytes, keyOf(batch, `${scope} ${signal}`));
  };
}

/** Returns the exit code. */
async function ingestFiles(to: MakeDelivery, files: readonly string[], stop: AbortSignal): Promise<number> {
  let refused = 0;
  for (const file of files) {
    refused += (await ingestFile(to, await openInput(file), stop)).refused;
    if (stop.aborted) return interrupted;
  }
  return refused === 0 ? 0 : 1;
}

async function ingestFile(to: MakeDelivery, input: InputFile, stop: AbortSignal): Promise<Tally> {
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
    const run: Run = {
      // The same bytes in a file are the same rows; on standard input they may be new ones.
      scope: input.isLive ? randomUUID() : "file",
      stop,
      onProblem: (problem) => progress.note(`${safeLine(problem)}; trying again`),
    };
    await sendAll(batches, tally, to(run));
  } catch (error) {
    if (!stop.aborted) throw new Error(stoppedText(input, tally, error));
  } finally {
    clearInterval(timer);
    progress.end();
  }
  process.stdout.write(summary(input, tally, Date.now() - startMs));
  return tally;
}

function doneOf(input: InputFile, tally: Tally): Done {
  const rows = tally.taken + tally.repeated + tally.dropped + tally.refused;
  return { bytes: input.bytesRead, bytesTotal: input.bytesTotal, dataBytes: tally.bytes, rows };
}

function summary(input: InputFile, tally: Tally, elapsedMs: number): string {
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const rate = `${count(Math.round((tally.taken + tally.repeated) / seconds))} rows/s, ${(tally.bytes / 1e6 / seconds).toFixed(1)} MB/s`;
  const repeated = tally.repeated > 0 ? `, ${count(tally.repeated)} were there already` : "";
  const dropped = tally.dropped > 0 ? `, ${count(tally.dropped)} left out by ingestion rules` : "";
  const lines = [
    `${safeLine(input.name)}: ${count(tally.taken)} rows taken${repeated}${dropped}, ${count(tally.refused)} refused in ${seconds.toFixed(1)} s (${rate})`,
  ];
  const first = tally.refusals.sort((a, b) => a.line - b.line).slice(0, refusalsShown);
  for (const { line, reason } of first) lines.push(`  line ${line}: ${safeLine(reason)}`);
  if (tally.refused > first.length) lines.push(`  and ${count(tally.refused - first.length)} more`);
  return `${lines.join("\n")}\n`;
}

function stoppedText(input: InputFile, tally: Tally, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `${safeLine(input.name)}: stopped after ${count(tally.taken)} rows: ${safeLine(reason)} (sending it again adds only what is missing)`;
}
