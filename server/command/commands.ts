/** All commands, in the order in which help lists them. */

import { alerts } from "./alerts.ts";
import { backup } from "./backup.ts";
import { exportManifests } from "./export-manifests.ts";
import { exporter } from "./exporter.ts";
import type { Command, Flags } from "./flags/flag.ts";
import { ingest } from "./ingest.ts";
import { investigate } from "./investigate.ts";
import { kubernetes } from "./kubernetes.ts";
import { query } from "./query.ts";
import { restore } from "./restore.ts";
import { serve } from "./serve.ts";
import { stats } from "./stats.ts";
import { tail } from "./tail.ts";
import { token } from "./token.ts";
import { verify } from "./verify.ts";

export const commands: readonly Command<Flags>[] = [
  serve,
  ingest,
  query,
  tail,
  investigate,
  stats,
  alerts,
  token,
  backup,
  restore,
  verify,
  exporter,
  exportManifests,
  kubernetes,
];

/** Names of the settings of all commands. */
export function listSettingNames(): string[] {
  return [...new Set(commands.flatMap((command) => Object.keys(command.flags)))];
}
