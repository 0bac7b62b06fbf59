/** What a backup and its restoring show, and how they are stopped: nothing half stays. */

import type { CopyProgress } from "../../../engine/index.ts";
import { openProgress, type Progress } from "./progress.ts";

export interface CopyProgressBar {
  /** Throws once the process was told to stop, so that what was begun is removed. */
  onProgress(progress: CopyProgress): void;
  end(): void;
}

export function openCopyProgress(): CopyProgressBar {
  let phase: CopyProgress["phase"] | undefined;
  let progress: Progress | undefined;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  return {
    onProgress: (done) => {
      if (isStopped) throw new Error("stopped; nothing was left");
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
