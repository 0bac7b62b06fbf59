/** `svc verify`: reads every stored byte of a data folder and reports damage. */

import { resolve } from "node:path";
import type { Command } from "./flags/flag.ts";
import { configFlag, dataFlag, refuseOperands } from "./flags/shared-flags.ts";
import { openProgress } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";

const flags = { data: dataFlag, config: configFlag } as const;

export const verify: Command<typeof flags> = {
  name: "verify",
  summary: "reads every stored byte and reports damage",
  operands: "",
  output: "report",
  flags,
  details: [
    "Changes nothing, also while a server has the folder open. The exit code is 1 where something is damaged.",
  ],
  run: async (settings, operands) => {
    refuseOperands("verify", operands);
    const { verifyStore } = await import("../../engine/index.ts");
    const progress = openProgress("read");
    const report = await verifyStore(resolve(settings.data), (done) =>
      progress.show({ ...done, dataBytes: done.bytes, rows: 0 }),
    );
    progress.end();
    for (const { where, problem } of report.damage)
      process.stdout.write(`damaged: ${escapeLine(where)}: ${escapeLine(problem)}\n`);
    const found = report.damage.length === 0 ? "no damage" : `${report.damage.length} damaged`;
    process.stdout.write(
      `${report.rows} rows in ${report.chunks} chunks, ${report.unsealedRows} not sealed yet, ${report.bytes} bytes read: ${found}\n`,
    );
    return report.damage.length === 0 ? 0 : 1;
  },
};
