/** Commands and their flags. One flag is also an environment variable and a YAML key. */

import type { OutputUse } from "../output/lost-output.ts";
import { UsageError } from "./units.ts";

/** One setting of a command. */
export interface Flag<T> {
  /** Stands for the value in help, e.g. `DIR`; null for a switch, which takes no value. */
  placeholder: string | null;
  help: string;
  /** The default as a person would write it; undefined where a missing flag has a meaning of its own. */
  default?: string;
  /** Describes the default in help, in place of `default`. */
  defaultText?: string;
  /** True where the flag may be given several times. */
  isRepeatable?: boolean;
  /** True where errors must not show the value. */
  isSecret?: boolean;
  /** Throws UsageError that says what was expected, to complete "… must be". */
  parse(texts: readonly string[]): T;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** The parsed values of a command's flags; null for a missing flag without a default. */
export type Settings<F extends Flags> = {
  [K in keyof F]: F[K] extends Flag<infer T> ? (F[K] extends { default: string } ? T : T | null) : never;
};

/** One command of the `svc` program. */
export interface Command<F extends Flags = Flags> {
  name: string;
  /** One line for the list of commands, without a capital and a full stop. */
  summary: string;
  /** The operands in help, e.g. `FILE…`; "" for none. */
  operands: string;
  output: OutputUse;
  flags: F;
  /** More lines for `svc help NAME`. */
  details?: readonly string[];
  /** Resolves to the exit code. Throws UsageError, or an Error whose message is one sentence for people. */
  run(settings: Settings<F>, operands: readonly string[]): Promise<number>;
}

/** Makes the parser of a flag with one value: of several, the last one counts. */
export function takeLast<T>(parse: (text: string) => T): (texts: readonly string[]) => T {
  return (texts) => parse(texts.at(-1)!);
}

/** Takes any text but an empty one. */
export function parseText(text: string): string {
  if (text === "") throw new UsageError("some text");
  return text;
}

/** Parses a switch. On the command line its name means `true`; in the environment and in YAML it has a value. */
export function parseSwitch(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new UsageError("true or false");
}

/** Makes the name of a flag's environment variable: `SVC_RETENTION_BYTES` for `retention-bytes`. */
export function toEnvironmentName(flag: string): string {
  return `SVC_${flag.toUpperCase().replaceAll("-", "_")}`;
}
