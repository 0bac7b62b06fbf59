/** `svc restore`: makes a data folder from a backup. */

import { resolve } from "node:path";
import type { Command } from "./flags/flag.ts";
import { configFlag, dataFlag } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { openCopyProgress } from "./output/copy-progress.ts";
import { formatCount } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";

const flags = { data: { ...dataFlag, help: "the data folder to make" }, config: configFlag } as const;

export const restore: Command<typeof flags> = {
  name: "restore",
  summary: "makes a data folder of a backup",
  operands: "DIR",
  output: "report",
  flags,
  details: [
    "Every byte is checked before the data folder is there: a backup that is damaged or was not finished makes none.",
    "Links in the backup are not followed. It is not signed: that its checksums are right does not say who made it.",
    "Nothing is written over. A server on the new folder evaluates alerts and keeps what is to be told of them to itself",
    "until it is started with --notify-restored: the server that the backup was made of may still be telling.",
  ],
  run: async (settings, operands) => {
    const [dir, ...more] = operands;
    if (dir === undefined || more.length > 0) throw new UsageError("restore takes one folder");
    const { RestoreDamage, restoreBackup } = await import("../../engine/index.ts");
    const target = resolve(settings.data);
    const progressBar = openCopyProgress();
    try {
      const { onProgress } = progressBar;
      const restored = await restoreBackup(resolve(dir), target, { nowMs: Date.now(), onProgress });
      progressBar.end();
      for (const loss of restored.losses)
        process.stderr.write(`damaged before the backup: ${escapeLine(loss)}\n`);
      const taken = new Date(restored.takenAtMs).toISOString();
      process.stdout.write(
        `backup of ${taken} restored in ${target}: ${formatCount(restored.bytes)} bytes\n`,
      );
      process.stdout.write("notifications wait until svc serve is told --notify-restored\n");
      return 0;
    } catch (error) {
      progressBar.end();
      if (!(error instanceof RestoreDamage)) throw error;
      for (const { where, problem } of error.damage)
        process.stdout.write(`damaged: ${escapeLine(where)}: ${escapeLine(problem)}\n`);
      process.stdout.write("nothing was restored\n");
      return 1;
    }
  },
};
