/** The `svc` program: `node server/main.ts COMMAND …`. */

import { createRequire } from "node:module";
import { commands, listSettingNames } from "./command/commands.ts";
import type { Command, Flags } from "./command/flags/flag.ts";
import { readArguments, readSettings } from "./command/flags/settings.ts";
import { UsageError } from "./command/flags/units.ts";
import { formatCommandHelp, formatOverview } from "./command/help.ts";
import { OutputWatch } from "./command/output/lost-output.ts";
import { suggest } from "./text/suggestion.ts";

/** Returns the exit code: 0 success, 1 failure, 2 the program was called wrongly. */
async function main(words: readonly string[]): Promise<number> {
  const [name = "help", ...rest] = words;
  if (name === "help" || name === "--help" || name === "-h") return printHelp(rest[0]);
  if (name === "version" || name === "--version") return print(`svc ${readVersion()}`);
  const command = findCommand(name);
  if (rest.includes("--help") || rest.includes("-h")) return printHelp(name);
  const args = readArguments(command.flags, rest);
  const settings = readSettings(command, args, process.env, listSettingNames());
  output.setUse(command.output);
  return command.run(settings, args.operands);
}

function printHelp(name: string | undefined): number {
  return print(name === undefined ? formatOverview(commands) : formatCommandHelp(findCommand(name)));
}

function findCommand(name: string): Command<Flags> {
  const command = commands.find((c) => c.name === name);
  if (command !== undefined) return command;
  const names = [...commands.map((c) => c.name), "help", "version"];
  throw new UsageError(
    `there is no command ${JSON.stringify(name)}${suggest(name, names)} (svc help lists them)`,
  );
}

function print(text: string): number {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  return 0;
}

function readVersion(): string {
  const require = createRequire(import.meta.url);
  // One folder up in the sources, two in `dist`.
  const path = import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json";
  return (require(path) as { version: string }).version;
}

const output = new OutputWatch();

// Telemetry and tokens are for the user that runs svc alone: folders get mode 0700 and files 0600.
process.umask(0o077);

try {
  const code = await main(process.argv.slice(2));
  // Where output was lost, the exit code says so already.
  if (code !== 0) process.exitCode = code;
} catch (error) {
  process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
