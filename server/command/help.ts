/** The texts that `svc help` prints. */

import type { Command, Flag, Flags } from "./flags/flag.ts";
import { toEnvironmentName } from "./flags/flag.ts";

export function formatOverview(commands: readonly Command<Flags>[]): string {
  const rows = commands.map((c): [string, string] => [`svc ${c.name}`, c.summary]);
  rows.push(
    ["svc help [COMMAND]", "prints this, or what a command can be told"],
    ["svc version", "prints the version"],
  );
  return [
    "svc stores logs of Kubernetes clusters and searches them.",
    "",
    ...formatTable(rows),
    "",
    "Every flag can also be set by an environment variable (--retention-bytes is SVC_RETENTION_BYTES)",
    "or in a YAML file (retention-bytes: 10GiB) named by --config; flags are the strongest, then the environment.",
    "",
  ].join("\n");
}

export function formatCommandHelp(command: Command<Flags>): string {
  const usage = `svc ${command.name} ${command.operands} [FLAGS]`.replace("  ", " ");
  const flags = Object.entries(command.flags).map(([name, flag]): [string, string] => [
    flag.placeholder === null ? `--${name}` : `--${name} ${flag.placeholder}`,
    `${flag.help}${formatDefault(flag)}${flag.isRepeatable ? "; may come several times" : ""} [${toEnvironmentName(name)}]`,
  ]);
  const details = command.details === undefined ? [] : ["", ...command.details];
  return [
    `Usage: ${usage}`,
    "",
    `${toSentence(command.summary)}`,
    ...details,
    "",
    "Flags:",
    ...formatTable(flags),
    "",
  ].join("\n");
}

function formatDefault(flag: Flag<unknown>): string {
  const text = flag.defaultText ?? flag.default;
  return text === undefined || flag.placeholder === null ? "" : ` (default: ${text})`;
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function formatTable(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
