/** The `svc` program: `node server/main.ts COMMAND …`. */

import { createRequire } from "node:module";
import { commands, knownSettings } from "./command/commands.ts";
import type { Command, Flags } from "./command/flags/flag.ts";
import { readArguments, readSettings } from "./command/flags/settings.ts";
import { UsageError } from "./command/flags/units.ts";
import { commandHelp, overview } from "./command/help.ts";
import { suggest } from "./text/suggestion.ts";

/** Exit codes: 0 well, 1 it could not be done, 2 the program was called wrongly. */
async function main(words: readonly string[]): Promise<number> {
  const [name = "help", ...rest] = words;
  if (name === "help" || name === "--help" || name === "-h") return help(rest[0]);
  if (name === "version" || name === "--version") return print(`svc ${version()}`);
  const command = commandNamed(name);
  if (rest.includes("--help") || rest.includes("-h")) return help(name);
  const args = readArguments(command.flags, rest);
  const settings = readSettings(command, args, process.env, knownSettings());
  return command.run(settings, args.operands);
}

function help(name: string | undefined): number {
  return print(name === undefined ? overview(commands) : commandHelp(commandNamed(name)));
}

function commandNamed(name: string): Command<Flags> {
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

function version(): string {
  const require = createRequire(import.meta.url);
  // One folder up in the sources, two in `dist`.
  const path = import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json";
  return (require(path) as { version: string }).version;
}

/** A reader that has seen enough (`svc query … | head`) is no failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
