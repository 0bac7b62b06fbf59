/** `svc backup`: copies a whole store into a new folder, from a running server or from its data folder. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { BackupMarker } from "../../engine/index.ts";
import { readFilesBesideStore } from "../operations/backup-files.ts";
import { askPieces, openClient } from "./client/client.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { serverFlags } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { openCopyProgress } from "./output/copy-progress.ts";
import { formatCount } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";

const flags = {
  ...serverFlags,
  url: {
    ...serverFlags.url,
    help: "the server to ask",
    defaultText: "the one that has the data folder open; where there is none, the folder itself is read",
  },
  data: {
    ...serverFlags.data,
    help: "the data folder, read where nobody has it open; else its admin-token file is used",
  },
} as const;

export const backup: Command<typeof flags> = {
  name: "backup",
  summary: "copies a whole store, with a server running or not, into a new folder",
  operands: "DIR",
  output: "report",
  flags,
  details: [
    "Everything that was acknowledged before the command began is in the backup: rows of all signals, alerts and their",
    "states, dashboards, tokens, silences, notifications that wait. The server goes on taking rows and answering.",
    "DIR is made by the command, or empty; it appears when the backup is whole, and not before.",
    "The exit code is 1 also where the store itself has damage: the backup stands, and says what it lacks.",
    "It is not signed: its checksums find damage, not forgery. `sha256sum DIR/backup`, kept elsewhere, covers every file.",
    "A backup holds secrets: the admin token, those of webhooks. Its files are readable by their owner alone.",
  ],
  run: async (settings, operands) => {
    const [dir, ...more] = operands;
    if (dir === undefined || more.length > 0) throw new UsageError("backup takes one folder");
    const { isOpenElsewhere } = await import("../../engine/index.ts");
    const data = resolve(settings.data);
    const hasFolder = settings.url === null && existsSync(join(data, "format"));
    if (hasFolder && !(await isOpenElsewhere(data))) return printMarker(dir, await backUpFolder(data, dir));
    return printMarker(dir, await backUpServer(settings, dir));
  },
};

async function backUpServer(settings: Settings<typeof flags>, dir: string): Promise<BackupMarker> {
  const { writeBackup } = await import("../../engine/index.ts");
  const client = await openClient(settings);
  const pieces = await askPieces(client, { method: "POST", path: "/api/v1/backup" });
  const progressBar = openCopyProgress();
  try {
    return await writeBackup(pieces, dir, progressBar.onProgress);
  } finally {
    progressBar.end();
  }
}

/** Opens the folder as a server does, so that what a crash left is repaired. */
async function backUpFolder(data: string, dir: string): Promise<BackupMarker> {
  const { openState, openStore, writeBackup } = await import("../../engine/index.ts");
  const store = await openStore({ dir: data, threads: 1 });
  const state = await openState(join(data, "control"));
  const reader = await store.openBackup(state);
  const progressBar = openCopyProgress();
  try {
    return await writeBackup(reader.pieces(await readFilesBesideStore(data)), dir, progressBar.onProgress);
  } finally {
    progressBar.end();
    await reader.close();
    await state.close();
    await store.close();
  }
}

function printMarker(dir: string, { takenAtMs, bytes, losses }: BackupMarker): number {
  for (const loss of losses) process.stderr.write(`damaged in the store: ${escapeLine(loss)}\n`);
  const taken = new Date(takenAtMs).toISOString();
  const damaged = losses.length === 0 ? "" : `, ${formatCount(losses.length)} damaged in the store`;
  process.stdout.write(`backup of ${taken} in ${dir}: ${formatCount(bytes)} bytes${damaged}\n`);
  return losses.length === 0 ? 0 : 1;
}
