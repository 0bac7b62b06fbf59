/** The progress of a backup or its restoring, which a signal stops so that nothing half-written stays. */

import type { CopyProgress } from "../../../engine/index.ts";
import { openProgress, type Progress } from "./progress.ts";

export function openCopyProgress() {
  let phase: CopyProgress["phase"] | undefined;
  let progress: Progress | undefined;
  let wasSignalled = false;
  const stop = () => {
    wasSignalled = true;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  return {
    /** Throws after SIGINT or SIGTERM, so that the copy removes what it has written. */
    onProgress: (done: CopyProgress) => {
      if (wasSignalled) throw new Error("stopped; nothing was left");
      if (phase !== done.phase) {
        progress?.end();
        progress = openProgress(done.phase);
        phase = done.phase;
      }
      progress!.show({ bytes: done.bytes, bytesTotal: done.bytesTotal, dataBytes: done.bytes, rows: 0 });
    },
    end: () => {
      progress?.end();
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
    },
  };
}
