/** How commands that run for long are stopped. */

/** A signal this soon after the first is the same key press: both npm and the terminal pass it on. */
const sameKeyPressMs = 500;

/** The exit code that shells report for a process that SIGINT ended. */
export const interruptedExitCode = 130;

/** A stop takes no longer: 5 s for requests that run (`drainMsMax`), the rest for what is written last. */
const stopMsMax = 10_000;

/**
 * Ends the process where the stop that begins now does not: a disk or native code that does not answer would hold it up
 * for ever. It is killed, since an exit would wait for its threads. What was acknowledged is on disk already.
 */
export function limitStop(msMax = stopMsMax): void {
  const timer = setTimeout(() => {
    process.stderr.write(
      `svc: the stop took longer than ${msMax / 1000} s and was broken off; what is acknowledged is kept\n`,
    );
    process.kill(process.pid, "SIGKILL");
    // Only the first process of a container is still there: it cannot kill itself.
    process.exit(1);
  }, msMax);
  timer.unref();
}

/**
 * Resolves at the first SIGINT, SIGTERM or SIGHUP. A second one after `sameKeyPressMs` ends the process.
 * `promise` says what becomes of unfinished work.
 */
export function waitForStopSignal(promise: string): Promise<void> {
  let firstAtMs: number | null = null;
  return new Promise((resolveStop) => {
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAtMs === null) {
        firstAtMs = performance.now();
        process.stderr.write(`${signal}: stopping; ${promise} (once more: exit at once)\n`);
        resolveStop();
      } else if (performance.now() - firstAtMs > sameKeyPressMs) {
        endBy(signal);
      }
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}

/**
 * Ends the process by a signal, as if nobody listened to it. An exit would wait for threads that write, and end them in the
 * midst of calls of native code.
 */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Only the first process of a container is still there: a signal that nobody listens to does not end it.
  process.exit(interruptedExitCode);
}
