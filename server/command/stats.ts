/** `svc stats`: rows and bytes in the chunks of a data folder, for each signal and each column. */

import { resolve } from "node:path";
import type { ColumnInventory, SignalInventory } from "../../engine/index.ts";
import type { Command } from "./flags/flag.ts";
import { configFlag, dataFlag, refuseOperands, switchFlag } from "./flags/shared-flags.ts";
import { formatCount } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";

const flags = {
  data: dataFlag,
  json: { ...switchFlag, help: "prints JSON" },
  config: configFlag,
} as const;

export const stats: Command<typeof flags> = {
  name: "stats",
  summary: "prints what is stored of each signal, in bytes a column",
  operands: "",
  output: "answer",
  flags,
  details: [
    "Reads chunk headers and the journal, also while a server has the folder open. Rows that are not sealed into chunks yet",
    "are counted in the first line, and left out of the columns.",
    "A message is stored as its template (message) and what varies in it (variables, by the characters they hold).",
  ],
  run: async (settings, operands) => {
    refuseOperands("stats", operands);
    const { readInventory } = await import("../../engine/index.ts");
    const inventories = await readInventory(resolve(settings.data));
    process.stdout.write(settings.json ? `${JSON.stringify(inventories)}\n` : formatStore(inventories));
    const unread = inventories.flatMap((inventory) => inventory.unread);
    for (const problem of unread) process.stderr.write(`not read: ${escapeLine(problem)}\n`);
    return unread.length === 0 ? 0 : 1;
  },
};

const barWidth = 20;

/** Names the signals only where there is more than one. */
function formatStore(inventories: readonly SignalInventory[]): string {
  if (inventories.length === 1) return formatInventory(inventories[0]!);
  return inventories.map((inventory) => `${inventory.signal}: ${formatInventory(inventory)}`).join("\n");
}

function formatInventory(inventory: SignalInventory): string {
  const { rows, unsealedRows, chunks, partitions, allocatedBytes, columns } = inventory;
  const total = columns.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  const head = `${formatCount(rows)} rows in ${formatCount(chunks)} chunks of ${formatCount(partitions)} days, ${formatCount(unsealedRows)} not sealed yet: ${formatBytes(total)} of columns, ${formatBytes(allocatedBytes)} on disk\n`;
  if (rows === 0) return head;
  const largest = columns[0]!.storedBytes;
  const lines = columns.map((column) => [
    formatColumnName(column),
    Object.keys(column.encodings).sort().join(", "),
    formatCount(column.rows),
    formatBytes(column.encodedBytes),
    formatBytes(column.storedBytes),
    (column.storedBytes / Math.max(1, column.rows)).toFixed(2),
    `${((column.storedBytes / total) * 100).toFixed(1)} %`,
    "█".repeat(Math.round((column.storedBytes / largest) * barWidth)),
  ]);
  const titles = ["column", "encoding", "rows", "encoded", "stored", "bytes/row", "share", ""];
  return `${head}\n${alignColumns([titles, ...lines])}`;
}

function formatColumnName({ role, key }: ColumnInventory): string {
  return escapeLine(role === "attribute" ? key : key === "" ? `(${role})` : `(${role}: ${key})`);
}

function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  const [divisor, unit] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

/** Pads the cells; columns 2 to 6, counted from 0, are numbers and align at the right. */
function alignColumns(lines: readonly string[][]): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) => {
      const cells = line.map((cell, i) =>
        i >= 2 && i <= 6 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!),
      );
      return `${cells.join("  ").trimEnd()}\n`;
    })
    .join("");
}
