/** CPU time and memory of a process, as Linux reports them in /proc. */
import { readFile } from "node:fs/promises";

/** A clock tick of /proc: Linux reports hundredths of a second on every platform that Node runs on. */
const tickMs = 10;

/** CPU time of all threads so far, user and system. Null where there is no /proc, or no such process. */
export async function readCpuMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name may hold spaces, so fields are counted behind it: utime and stime are the 14th and 15th of proc(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.length < 13 ? null : (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Largest resident set so far. Null where there is no /proc, or no such process. */
export async function readMemoryBytesPeak(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}
