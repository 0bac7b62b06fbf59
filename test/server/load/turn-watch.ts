/**
 * Loaded into a server by `--import`: writes how long the turns of its event loop are, as CPU time of its main thread,
 * which other processes on the machine lengthen far less than time by the clock. One line each 50 ms: the time, and the
 * longest turn since the last line, in milliseconds of a machine on which `calibrate` takes `referenceMs`.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/** What `calibrate` takes on the machine for which the tests state their bounds. */
const referenceMs = 12;

const path = process.env.TEST_TURNS_FILE;
if (isMainThread && path !== undefined) {
  const slowness = Math.min(4, Math.max(1, Math.min(calibrate(), calibrate(), calibrate()) / referenceMs));
  let longestMs = 0;
  let lastMs = cpuMs();
  const turn = () => {
    const nowMs = cpuMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    setTimeout(turn, 1).unref();
  };
  setTimeout(turn, 1).unref();
  const write = () => {
    appendFileSync(path, `${Date.now()} ${(longestMs / slowness).toFixed(2)}\n`);
    longestMs = 0;
  };
  setInterval(write, 50).unref();
}

/** CPU time of the main thread. */
function cpuMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
}

/** CPU milliseconds of a fixed piece of work that is like the server's: objects, texts and a map. */
function calibrate(): number {
  const beganMs = cpuMs();
  const map = new Map<string, number>();
  for (let i = 0; i < 200_000; i++) {
    const key = `key ${(i * 7919) % 5_000}`;
    map.set(key, (map.get(key) ?? 0) + i);
  }
  return cpuMs() - beganMs + (map.size === 0 ? 1 : 0);
}
