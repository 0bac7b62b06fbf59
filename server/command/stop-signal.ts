/** How commands that run for long are stopped. */

/** A signal this soon after the first is the same key press: both npm and the terminal pass it on. */
const sameKeyPressMs = 500;

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
        process.exit(130);
      }
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
