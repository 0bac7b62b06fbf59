import { safe } from "./terminal.ts";

/** Waits for the reader, so that a slow one costs no memory. */
export async function write(lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const flows = process.stdout.write(`${lines.join("\n")}\n`);
  if (!flows) await new Promise((resolve) => process.stdout.once("drain", resolve));
}

export function warn(warnings: readonly string[] | undefined): void {
  for (const warning of warnings ?? []) process.stderr.write(`warning: ${safe(warning)}\n`);
}
