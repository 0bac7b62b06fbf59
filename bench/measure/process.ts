/** CPU time and memory of a process, as Linux reports them in /proc. */
import { readFile } from "node:fs/promises";

/** A clock tick of /proc: Linux reports hundredths of a second on every platform that Node runs on. */
const tickMs = 10;

/** CPU time of all threads so far, user and system. Null where there is no /proc, or no such process. */
export async function readCpuMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name may hold spaces, so fields are counted after it: utime and stime are the 14th and 15th of proc(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.length < 13 ? null : (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** What a process used. */
export interface ProcessCost {
  /** CPU time of all threads, user and system. */
  cpuMs: number;
  /** Bytes that it had the system write to disks, however often. */
  writtenBytes: number;
}

/** What this process, and its children that have ended, used so far. Null where there is no /proc. */
export async function readOwnCost(): Promise<ProcessCost | null> {
  const [stat, io] = await Promise.all(
    ["stat", "io"].map((name) => readFile(`/proc/self/${name}`, "utf8").catch(() => "")),
  );
  const fields = stat!.slice(stat!.lastIndexOf(")") + 2).split(" ");
  const writtenBytes = /^write_bytes: (\d+)$/m.exec(io!)?.[1];
  if (fields.length < 15 || writtenBytes === undefined) return null;
  // utime, stime, cutime and cstime; see `readCpuMs`. The kernel adds what ended children wrote by itself.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { cpuMs: ticks * tickMs, writtenBytes: Number(writtenBytes) };
}

/** What was used between two readings; absent where one is missing. */
export function costBetween(
  before: ProcessCost | null,
  after: ProcessCost | null,
): { lifeCost?: ProcessCost } {
  if (before === null || after === null) return {};
  return {
    lifeCost: {
      cpuMs: after.cpuMs - before.cpuMs,
      writtenBytes: after.writtenBytes - before.writtenBytes,
    },
  };
}

/** Largest resident set so far. Null where there is no /proc, or no such process. */
export async function readMemoryBytesPeak(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

const pollMs = 100;

/** Reads the largest resident set of a process again and again; returns a function that ends this and returns it. */
export function watchMemoryBytesPeak(pid: number): () => number {
  let peak = 0;
  const timer = setInterval(async () => {
    peak = Math.max(peak, (await readMemoryBytesPeak(pid)) ?? 0);
  }, pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    return peak;
  };
}
