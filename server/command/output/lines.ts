/** Lines on standard output, warnings on standard error. */

import { escapeText } from "./terminal.ts";

/** Writes lines to standard output and waits while its buffer is full, so that a slow reader costs no memory. */
export async function writeLines(lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const hasRoom = process.stdout.write(`${lines.join("\n")}\n`);
  if (!hasRoom) await new Promise((resolve) => process.stdout.once("drain", resolve));
}

export function printWarnings(warnings: readonly string[] | undefined): void {
  for (const warning of warnings ?? []) process.stderr.write(`warning: ${escapeText(warning)}\n`);
}
