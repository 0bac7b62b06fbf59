/** Reads the settings of a command. The command line overrides the environment, which overrides the YAML file. */

import { readFileSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import { suggest } from "../../text/suggestion.ts";
import type { Command, Flag, Flags, Settings } from "./flag.ts";
import { toEnvironmentName } from "./flag.ts";
import { UsageError } from "./units.ts";

/** A setting as a person gave it. */
interface GivenSetting {
  texts: string[];
  /** Where it was given, for errors: `--limit`, `SVC_LIMIT` or `limit in svc.yaml`. */
  source: string;
}

type GivenSettings = Map<string, GivenSetting>;

export interface Arguments {
  flags: GivenSettings;
  operands: string[];
}

/**
 * Returns the setting of each flag of the command. Throws UsageError for an unknown setting or a wrong value. `known`
 * holds the flags of all commands: one file and one environment serve all of them, so a setting of another command is
 * no error there.
 */
export function readSettings<F extends Flags>(
  command: Command<F>,
  args: Arguments,
  environment: NodeJS.ProcessEnv,
  known: readonly string[],
): Settings<F> {
  const fromEnvironment = readEnvironment(environment, known);
  const file = args.flags.get("config") ?? fromEnvironment.get("config");
  const fromFile = file === undefined ? new Map() : readFile(file.texts.at(-1)!, known);
  const settings: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(command.flags)) {
    const given = args.flags.get(name) ?? splitLines(flag, fromEnvironment.get(name)) ?? fromFile.get(name);
    settings[name] = parseSetting(flag, given);
  }
  return settings as Settings<F>;
}

/** A variable holds several values of a flag in as many lines. */
function splitLines(flag: Flag<unknown>, given: GivenSetting | undefined): GivenSetting | undefined {
  if (flag.isRepeatable !== true || given === undefined) return given;
  const lines = given.texts.flatMap((text) => text.split("\n").filter((line) => line.trim() !== ""));
  return lines.length === 0 ? given : { ...given, texts: lines };
}

function parseSetting(flag: Flag<unknown>, given: GivenSetting | undefined): unknown {
  if (given === undefined) return flag.default === undefined ? null : flag.parse([flag.default]);
  try {
    return flag.parse(given.texts);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const got = flag.isSecret ? "" : `, got ${JSON.stringify(given.texts.at(-1))}`;
    throw new UsageError(`${given.source} must be ${error.message}${got}`);
  }
}

/** Splits the words after the command's name. Throws UsageError for an unknown flag or a missing value. */
export function readArguments(flags: Flags, words: readonly string[]): Arguments {
  const args: Arguments = { flags: new Map(), operands: [] };
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === "--") {
      args.operands.push(...words.slice(i + 1));
      break;
    }
    if (!word.startsWith("--")) {
      refuseShortFlag(word, flags);
      args.operands.push(word);
      continue;
    }
    const [name, inline] = splitFlag(word);
    const flag = findFlag(flags, name);
    const text = inline ?? (flag.placeholder === null ? "true" : requireValue(name, flag, words[++i]));
    const before = flag.isRepeatable ? (args.flags.get(name)?.texts ?? []) : [];
    args.flags.set(name, { texts: [...before, text], source: `--${name}` });
  }
  return args;
}

function splitFlag(word: string): [name: string, value: string | undefined] {
  const equals = word.indexOf("=");
  return equals < 0 ? [word.slice(2), undefined] : [word.slice(2, equals), word.slice(equals + 1)];
}

function findFlag(flags: Flags, name: string): Flag<unknown> {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (flag !== undefined) return flag;
  const names = Object.keys(flags).map((known) => `--${known}`);
  throw new UsageError(`unknown flag --${name}${suggest(`--${name}`, names)}`);
}

function requireValue(name: string, flag: Flag<unknown>, word: string | undefined): string {
  if (word !== undefined && !word.startsWith("--")) return word;
  throw new UsageError(`--${name} needs a value: --${name} ${flag.placeholder}`);
}

/** Refuses `-x`. A single `-` is standard input, and a number or a quoted query may begin with a dash. */
function refuseShortFlag(word: string, flags: Flags): void {
  if (!/^-[a-z]+$/i.test(word)) return;
  const long = Object.keys(flags).find((name) => name.startsWith(word.slice(1)));
  const hint = long === undefined ? "put -- before text that begins with a dash" : `did you mean --${long}?`;
  throw new UsageError(`unknown flag ${word}; ${hint}`);
}

/**
 * Variables that Kubernetes sets in every container for a Service whose name begins with `svc`; they are not settings.
 * https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
 */
const serviceLink =
  /^SVC_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

function readEnvironment(environment: NodeJS.ProcessEnv, known: readonly string[]): GivenSettings {
  const byVariable = new Map(known.map((name) => [toEnvironmentName(name), name]));
  const given: GivenSettings = new Map();
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith("SVC_") || text === undefined || serviceLink.test(variable)) continue;
    const name = byVariable.get(variable);
    if (name === undefined) {
      throw new UsageError(`unknown environment variable ${variable}${suggest(variable, byVariable.keys())}`);
    }
    given.set(name, { texts: [text], source: variable });
  }
  return given;
}

function readFile(path: string, known: readonly string[]): GivenSettings {
  const document = parseFile(path);
  if (document === null || document === undefined) return new Map();
  if (typeof document !== "object" || Array.isArray(document)) {
    throw new UsageError(`${path} must hold one setting a line, such as \`listen: 127.0.0.1:8080\``);
  }
  const given: GivenSettings = new Map();
  for (const [key, value] of Object.entries(document)) {
    if (!known.includes(key)) throw new UsageError(`unknown setting ${key} in ${path}${suggest(key, known)}`);
    if (value === null) continue;
    given.set(key, { texts: toTexts(value, key, path), source: `${key} in ${path}` });
  }
  return given;
}

function parseFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`the configuration file ${path} cannot be read (${code})`);
  }
  try {
    return parseYaml(text);
  } catch (error) {
    const first = error instanceof Error ? error.message.split("\n", 1)[0] : String(error);
    throw new UsageError(`the configuration file ${path} is not YAML: ${first}`);
  }
}

function toTexts(value: unknown, key: string, path: string): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values.map((item: unknown) => {
    if (typeof item === "string" || typeof item === "number" || typeof item === "boolean")
      return String(item);
    throw new UsageError(`${key} in ${path} must be text or a number`);
  });
}
