/** `svc ingest`: sends files of JSON lines to a server, or stores them in a data folder that no server has open. */

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { sumBytes } from "../ingest/decode-task.ts";
import type { LogFieldNames } from "../ingest/loggers/field-names.ts";
import type { DirectLoad } from "../ingest/pieces/direct-load.ts";
import type { GroupSize } from "../ingest/pieces/group-size.ts";
import { SharedBodies } from "../ingest/pieces/shared-bodies.ts";
import { signalOfPath } from "../ingest/signal-path.ts";
import { batchesOf, groupsOf } from "./client/batches.ts";
import type { Client } from "./client/client.ts";
import { openClient } from "./client/client.ts";
import type { InputFile } from "./client/input.ts";
import { openInput } from "./client/input.ts";
import { askUntilFinal } from "./client/retries.ts";
import type { DeliverGroup, Tally } from "./client/sender.ts";
import { createTally, keyOf, makeServerDelivery, publicSecret, secretOf, sendAll } from "./client/sender.ts";
import { type Command, parseText, type Settings, takeLast } from "./flags/flag.ts";
import { memoryFlag, serverFlags, switchFlag } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { restartWithMemorySettings } from "./memory-start.ts";
import type { ProgressState } from "./output/progress.ts";
import { formatCount, openProgress } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";
import { interruptedExitCode } from "./stop-signal.ts";

/** Target size of a batch. */
const batchBytes = 2 * 1024 * 1024;
/** A server that does not take bodies in pieces gets single batches. */
const singleBatches: GroupSize = { bytesMax: 0, linesMax: 0, atATime: 3 };
/** Longest line that is sent, below the server's limit for a body. */
const lineBytesMax = 16 * 1024 * 1024;
/** When standard input gives nothing for this long, the lines that have come are sent. */
const idleMs = 1_000;
const refusalsShown = 10;

type SignalName = keyof typeof signalOfPath;
const signals = Object.keys(signalOfPath) as SignalName[];

/** Names a field of log rows, where the known names do not find it. */
function fieldFlag(part: string) {
  return {
    placeholder: "NAME",
    help: `field of a log line that holds its ${part}`,
    parse: takeLast(parseText),
  };
}

const flags = {
  signal: {
    placeholder: "SIGNAL",
    help: `what the files hold: ${signals.join(", ")}`,
    default: "logs",
    parse: takeLast((text) => {
      const found = signals.find((signal) => signal === text);
      if (found !== undefined) return found;
      throw new UsageError(`one of ${signals.join(", ")}`);
    }),
  },
  direct: {
    ...switchFlag,
    help: "stores the rows in the data folder (--data) itself, which no server may have open: the fastest way for much",
  },
  memory: { ...memoryFlag, help: `with --direct: ${memoryFlag.help}` },
  "time-field": fieldFlag("time"),
  "level-field": fieldFlag("level"),
  "message-field": fieldFlag("message"),
  ...serverFlags,
} as const;

export const ingest: Command<typeof flags> = {
  name: "ingest",
  summary: "sends files of JSON lines or text to a running server, or stores them itself",
  operands: "FILE…",
  output: "report",
  flags,
  details: [
    "Files may be plain, gzip or zstd, whatever they are called; - is standard input.",
    'A line is {"timestamp": ms, "log_level": …, "message": …, "attributes": {…}}, or has timeUnixNano for timestamp.',
    "The lines of common loggers and plain text files are recognised, too (server/README.md, Lines of loggers).",
    "The lines of other signals are shown in server/README.md.",
    "A file that is sent again within a day adds nothing, whole or in part, unless it went another way before (--direct, or",
    "through a proxy that takes less than 2 MiB at once).",
    "What goes in with --direct passes no ingestion rules and no limits, and is not stamped: those are the server's.",
    "The exit code is 0 only when no row was refused.",
  ],
  run: async (settings, files) => {
    if (files.length === 0) throw new UsageError("ingest takes one or more files, or - for standard input");
    const stop = new AbortController();
    process.once("SIGINT", () => stop.abort(new Error("interrupted")));
    const { signal } = settings;
    const names = namesOf(settings);
    if (!settings.direct) return sendToServer(settings, { signal, names }, files, stop.signal);
    restartWithMemorySettings("load", settings.memory ?? undefined);
    const { openDirectLoad } = await import("../ingest/pieces/direct-load.ts");
    const load = await openDirectLoad(resolve(settings.data), settings.memory ?? undefined, ({ message }) => {
      process.stderr.write(`${escapeLine(message)}\n`);
    });
    try {
      const deliver: MakeDelivery = (run) => deliverIntoFolder(load, { signal, names }, run);
      const takeMemory = (bytes: number) => load.takeMemory(bytes);
      const size = load.groupSizeOf(signalOfPath[signal]);
      const delivery = { deliver, takeMemory, size, inFlightMax: size.atATime };
      return await ingestFiles(delivery, { signal, names }, files, stop.signal);
    } finally {
      await load.close();
    }
  },
};

/** The delivery of one file. */
interface FileRun {
  /** Part of the idempotency key of every batch. */
  scope: string;
  stop: AbortSignal;
  onProblem: (problem: string) => void;
}

/** What the files hold. */
interface FileContent {
  signal: SignalName;
  /** Fields that the user named; undefined where the known names are looked for. */
  names: LogFieldNames | undefined;
}

function namesOf(settings: Settings<typeof flags>): LogFieldNames | undefined {
  const [time, level, message] = [settings["time-field"], settings["level-field"], settings["message-field"]];
  if (time === null && level === null && message === null) return undefined;
  if (settings.signal !== "logs")
    throw new UsageError("--time-field, --level-field and --message-field are for logs");
  return { time: time ?? undefined, level: level ?? undefined, message: message ?? undefined };
}

/** The fields as query parameters; "" where the user named none. */
function queryOf(names: LogFieldNames | undefined): string {
  const given = Object.entries(names ?? {}).filter(([, name]) => name !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([part, name]): [string, string] => [`${part}Field`, name as string]))}`;
}

type MakeDelivery = (run: FileRun) => DeliverGroup;

/** How batches go to where they are stored. */
interface Delivery {
  deliver: MakeDelivery;
  /** See `BatchOptions`. */
  takeMemory: (bytes: number) => Uint8Array;
  /** How batches are grouped for it. */
  size: GroupSize;
  /** Groups that are delivered at a time. */
  inFlightMax: number;
}

/** Ingests the files over HTTP; returns the exit code. */
async function sendToServer(
  settings: Settings<typeof flags>,
  content: FileContent,
  files: readonly string[],
  stop: AbortSignal,
): Promise<number> {
  const client = await openClient(settings);
  let delivery: Delivery;
  try {
    delivery = await makeHttpDelivery(client, content, stop);
  } catch (error) {
    if (stop.aborted) return interruptedExitCode;
    throw error;
  }
  return ingestFiles(delivery, content, files, stop);
}

async function makeHttpDelivery(client: Client, content: FileContent, stop: AbortSignal): Promise<Delivery> {
  const pieces = await askGroupSize(client, content.signal, stop);
  const size = pieces ?? singleBatches;
  const bodies = new SharedBodies();
  const receiver = { client, takesPieces: pieces !== undefined, bodies };
  return {
    deliver: (run) => deliverOverHttp(receiver, content, run),
    takeMemory: (bytes) => bodies.take(bytes),
    size,
    // One body is on its way while the others are read.
    inFlightMax: size.atATime + 1,
  };
}

/**
 * How much the server takes in one body of pieces; undefined where it does not know of pieces. A server that is not running
 * is reported at once, not after minutes of retries.
 */
async function askGroupSize(
  client: Client,
  signal: SignalName,
  stop: AbortSignal,
): Promise<GroupSize | undefined> {
  const request = { method: "GET", path: `/api/v1/ingest/${signal}/limits` } as const;
  const answer = await askUntilFinal(client, request, {
    signal: stop,
    onProblem: (problem) => process.stderr.write(`${escapeLine(problem)}; trying again\n`),
    // Without the right to read the limits, or on a server without them, a body is tried.
    isFinal: ({ status }) => status === 200 || (status >= 400 && status < 500 && status !== 429),
    mustRun: true,
  });
  if (answer.status !== 200) return undefined;
  try {
    const { bytesMax, linesMax, atATime } = JSON.parse(answer.text) as GroupSize;
    return [bytesMax, linesMax, atATime].every((each) => each > 0)
      ? { bytesMax, linesMax, atATime }
      : undefined;
  } catch {
    // Not JSON, so not from svc.
    return undefined;
  }
}

/** A server that stores the rows, and the memory that their bytes lie in. */
interface Receiver {
  client: Client;
  takesPieces: boolean;
  bodies: SharedBodies;
}

function deliverOverHttp(
  { client, takesPieces, bodies }: Receiver,
  { signal, names }: FileContent,
  { scope, stop, onProblem }: FileRun,
): DeliverGroup {
  const query = queryOf(names);
  const path = `/api/v1/ingest/${signal}${query}`;
  const keys = { scope: `${scope}${query}`, secret: secretOf(client.token) };
  const deliver = makeServerDelivery({ ...keys, client, signal: stop, path, takesPieces, onProblem });
  return async function* (group) {
    yield* deliver(group);
    for (const { bytes } of group) bodies.giveBack(bytes);
  };
}

function deliverIntoFolder(
  load: DirectLoad,
  { signal, names }: FileContent,
  { scope, stop }: FileRun,
): DeliverGroup {
  const keys = { scope: `${scope}${queryOf(names)} ${signal}`, secret: publicSecret };
  return async function* (group, onRead) {
    stop.throwIfAborted();
    const bytes = sumBytes(group);
    const pieces = group.map((batch) => ({ bytes: batch.bytes, key: keyOf(batch, keys), place: batch }));
    const { errors, ...counts } = await load.take(signalOfPath[signal], pieces, {
      fieldNames: names,
      onRead,
    });
    yield { ...counts, refusals: errors, bytes };
  };
}

/** Ingests the files one after the other; returns the exit code. */
async function ingestFiles(
  to: Delivery,
  content: FileContent,
  files: readonly string[],
  stop: AbortSignal,
): Promise<number> {
  let refused = 0;
  for (const file of files) {
    refused += (await ingestFile(to, content, await openInput(file, stop), stop)).refused;
    if (stop.aborted) return interruptedExitCode;
  }
  return refused === 0 ? 0 : 1;
}

async function ingestFile(
  { deliver, takeMemory, size, inFlightMax }: Delivery,
  { signal, names }: FileContent,
  input: InputFile,
  stop: AbortSignal,
): Promise<Tally> {
  const tally = createTally();
  const startMs = performance.now();
  const progress = openProgress("read");
  const timer = setInterval(() => progress.show(progressOf(input, tally)), 100);
  const onForm = (form: string) => {
    process.stdout.write(`${escapeLine(input.name)}: recognised as ${escapeLine(form)}\n`);
  };
  const { recogniseLines } = await import("./client/recognised-lines.ts");
  const chunks =
    signal === "logs" ? recogniseLines(input.chunks, { isLive: input.isLive, names, onForm }) : input.chunks;
  const batches = batchesOf(chunks, {
    targetBytes: batchBytes,
    lineBytesMax,
    idleMs: input.isLive ? idleMs : null,
    takeMemory,
    onLongLine: (line) => {
      tally.refused++;
      tally.refusals.push({ line, reason: `longer than ${formatCount(lineBytesMax)} bytes` });
    },
  });
  try {
    const run: FileRun = {
      // The same bytes in a file are the same rows; on standard input they may be new ones.
      scope: input.isLive ? randomUUID() : "file",
      stop,
      onProblem: (problem) => progress.note(`${escapeLine(problem)}; trying again`),
    };
    const bytesTotal = () => input.dataBytesTotal;
    const groups = groupsOf(batches, { size, idleMs: input.isLive ? idleMs : null, bytesTotal });
    await sendAll(groups, tally, deliver(run), inFlightMax);
  } catch (error) {
    if (!stop.aborted) throw new Error(formatStopped(input, tally, error));
  } finally {
    clearInterval(timer);
    progress.end();
  }
  process.stdout.write(summary(input, tally, performance.now() - startMs));
  return tally;
}

function progressOf(input: InputFile, tally: Tally): ProgressState {
  const rows = tally.accepted + tally.duplicates + tally.dropped + tally.refused;
  return { bytes: input.bytesRead, bytesTotal: input.bytesTotal, dataBytes: tally.bytes, rows };
}

function summary(input: InputFile, tally: Tally, elapsedMs: number): string {
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const rate = `${formatCount(Math.round((tally.accepted + tally.duplicates) / seconds))} rows/s, ${(tally.bytes / 1e6 / seconds).toFixed(1)} MB/s`;
  const repeated = tally.duplicates > 0 ? `, ${formatCount(tally.duplicates)} were there already` : "";
  const dropped = tally.dropped > 0 ? `, ${formatCount(tally.dropped)} left out by ingestion rules` : "";
  const lines = [
    `${escapeLine(input.name)}: ${formatCount(tally.accepted)} rows taken${repeated}${dropped}, ${formatCount(tally.refused)} refused in ${seconds.toFixed(1)} s (${rate})`,
  ];
  const first = tally.refusals.sort((a, b) => a.line - b.line).slice(0, refusalsShown);
  for (const { line, reason } of first) lines.push(`  line ${line}: ${escapeLine(reason)}`);
  if (tally.refused > first.length) lines.push(`  and ${formatCount(tally.refused - first.length)} more`);
  return `${lines.join("\n")}\n`;
}

function formatStopped(input: InputFile, tally: Tally, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `${escapeLine(input.name)}: stopped after ${formatCount(tally.accepted)} rows: ${escapeLine(reason)} (sending it again adds only what is missing)`;
}
