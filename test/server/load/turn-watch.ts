/**
 * Loaded into a server by `--import`: writes how long the turns of its event loop are, as CPU time of its main thread,
 * which other processes on the machine lengthen far less than time by the clock. One line each 20 ms: the time, and the
 * longest turn since the last line, in milliseconds of the machine for which bounds are stated (`measureSlowness`).
 */
import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { measureSlowness } from "../../slowness.ts";

const path = process.env.TEST_TURNS_FILE;
if (isMainThread && path !== undefined) {
  const slowness = measureSlowness();
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
  setInterval(write, 20).unref();
}

/** CPU time of the main thread. */
function cpuMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
}
