/**
 * A server whose clock runs faster than time, in a process of its own with `--expose-gc`. Its argument is a `DayOrder` as
 * JSON. It sends a `DayServer` to the process that started it, and a `Footprint` for each message that it gets.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startService } from "../../../server/service.ts";
import type { DayClock } from "./day-clock.ts";
import { readDayClock } from "./day-clock.ts";

export interface DayOrder {
  dir: string;
  clock: DayClock;
  retentionAgeMs: number;
  retentionBytes: number;
}

export interface DayServer {
  url: string;
  token: string;
  syslogPort: number;
  grpcPort: number;
}

/** What a server holds at one moment, after garbage was collected. */
export interface Footprint {
  heapBytes: number;
  /** Of the main thread, outside of its heap. */
  bufferBytes: number;
  residentBytes: number;
  files: number;
  /** Timers, sockets, watchers, threads: what would keep the main thread alive, and timers that would not. */
  handles: number;
  threads: number;
  /** Errors that were logged so far. */
  errors: string[];
}

const order = JSON.parse(process.argv[2]!) as DayOrder;
Date.now = () => Math.round(readDayClock(order.clock));
const errors: string[] = [];
const service = await startService({
  dataDir: order.dir,
  address: { host: "127.0.0.1", port: 0 },
  syslogAddress: { host: "127.0.0.1", port: 0 },
  grpcAddress: { host: "127.0.0.1", port: 0, isOptional: false },
  anonymousRead: false,
  hostNames: [],
  scanThreads: 1,
  ingestThreads: 1,
  columnCacheBytes: 64 * 2 ** 20,
  queryDeadlineMs: 30_000,
  queryMemoryBytes: 2 ** 28,
  retentionAgeMs: order.retentionAgeMs,
  retentionBytes: order.retentionBytes,
  notify: { allowedNetworks: ["127.0.0.0/8"] },
  log: (level, message) => {
    if (level === "error") errors.push(message);
  },
});
const ready: DayServer = {
  url: service.url,
  token: readFileSync(service.adminTokenPath, "utf8").trim(),
  syslogPort: service.syslogPort!,
  grpcPort: service.grpcPort!,
};
process.on("message", () => void measure().then((footprint) => process.send!(footprint)));
process.on("SIGTERM", () => void service.close().then(() => process.exit(0)));
process.send!(ready);

async function measure(): Promise<Footprint> {
  // What a first collection leaves to finalizers, a second one takes.
  for (let i = 0; i < 3; i++) {
    globalThis.gc!();
    await sleep(50);
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heapBytes: heapUsed,
    bufferBytes: external,
    residentBytes: rss,
    files: readdirSync("/proc/self/fd").length,
    handles: process.getActiveResourcesInfo().length,
    threads: readdirSync("/proc/self/task").length,
    errors,
  };
}
