/**
 * How slow this machine is, for bounds in CPU time: they are stated for a machine on which the pieces of work below take
 * their reference times.
 */
import { existsSync, readFileSync } from "node:fs";

/** What `countTexts` and `writeNewMemory` take on the machine for which bounds are stated. */
const referenceMs = { texts: 12, memory: 2 };
/** A machine is never taken for slower than this: what takes far too long is to be noticed on every one. */
const slownessMax = 4;

/** 1 for the machine for which bounds are stated and for faster ones, up to 4 for slower ones. */
export function measureSlowness(): number {
  const texts = Math.min(...[1, 2, 3].map(() => timeCpu(countTexts))) / referenceMs.texts;
  const memory = Math.min(...[1, 2, 3].map(() => timeCpu(writeNewMemory))) / referenceMs.memory;
  return Math.min(slownessMax, Math.max(1, texts, memory));
}

/** Work that is like a server's: objects, texts and a map. */
function countTexts(): number {
  const map = new Map<string, number>();
  for (let i = 0; i < 200_000; i++) {
    const key = `key ${(i * 7919) % 5_000}`;
    map.set(key, (map.get(key) ?? 0) + i);
  }
  return map.size;
}

/** The first write to each of 2,048 pages. In some virtual machines it takes forty times as long as in others. */
function writeNewMemory(): number {
  const bytes = new Uint8Array(8 * 2 ** 20);
  for (let at = 0; at < bytes.length; at += 4_096) bytes[at] = 1;
  return bytes.length;
}

const schedstat = "/proc/thread-self/schedstat";
const isLinux = existsSync(schedstat);

/** CPU milliseconds of this thread, where the system tells them; else milliseconds. */
function timeCpu(work: () => number): number {
  const beganMs = nowMs();
  if (work() === 0) throw new Error("nothing was done");
  return nowMs() - beganMs;
}

function nowMs(): number {
  return isLinux ? Number(readFileSync(schedstat, "latin1").split(" ")[0]) / 1e6 : performance.now();
}
