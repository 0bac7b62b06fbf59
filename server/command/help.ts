/** What `svc help` prints. */

import type { Command, Flag, Flags } from "./flags/flag.ts";
import { environmentName } from "./flags/flag.ts";

export function overview(commands: readonly Command<Flags>[]): string {
  const rows = commands.map((c): [string, string] => [`svc ${c.name}`, c.summary]);
  rows.push(
    ["svc help [COMMAND]", "prints this, or what a command can be told"],
    ["svc version", "prints the version"],
  );
  return [
    "svc stores logs of Kubernetes clusters and searches them.",
    "",
    ...table(rows),
    "",
    "Every flag can also be set by an environment variable (--retention-bytes is SVC_RETENTION_BYTES)",
    "or in a YAML file (retention-bytes: 10GiB) named by --config; flags are the strongest, then the environment.",
    "",
  ].join("\n");
}

export function commandHelp(command: Command<Flags>): string {
  const usage = `svc ${command.name} ${command.operands} [FLAGS]`.replace("  ", " ");
  const flags = Object.entries(command.flags).map(([name, flag]): [string, string] => [
    flag.value === null ? `--${name}` : `--${name} ${flag.value}`,
    `${flag.help}${defaultOf(flag)}${flag.many ? "; may come several times" : ""} [${environmentName(name)}]`,
  ]);
  const details = command.details === undefined ? [] : ["", ...command.details];
  return [
    `Usage: ${usage}`,
    "",
    `${sentence(command.summary)}`,
    ...details,
    "",
    "Flags:",
    ...table(flags),
    "",
  ].join("\n");
}

function defaultOf(flag: Flag<unknown>): string {
  const says = flag.defaultSays ?? flag.default;
  return says === undefined || flag.value === null ? "" : ` (default: ${says})`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function table(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
