/** What a command can be told: one entry a setting, which is a flag, an environment variable and a YAML key at once. */

import { UsageError } from "./units.ts";

export interface Flag<T> {
  /** Stands for the value in help, e.g. `DIR`; null for a switch, which takes none. */
  value: string | null;
  help: string;
  /** As a person would write it; undefined where leaving it out has a meaning of its own. */
  default?: string;
  /** What the default is called in help, where the text of it would not say. */
  defaultSays?: string;
  /** May come several times. */
  many?: boolean;
  /** The value is nobody's business: help and complaints never show it. */
  secret?: boolean;
  /** Throws UsageError with what was expected. */
  parse(texts: readonly string[]): T;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** What the flags of a command come out as; null where a flag without default was left out. */
export type Settings<F extends Flags> = {
  [K in keyof F]: F[K] extends Flag<infer T> ? (F[K] extends { default: string } ? T : T | null) : never;
};

export interface Command<F extends Flags = Flags> {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** What stands behind the flags, e.g. `FILE…`; "" for nothing. */
  operands: string;
  flags: F;
  /** More lines for `svc help NAME`. */
  details?: readonly string[];
  /** Resolves to the exit code. Throws UsageError, or an Error whose message is one sentence for people. */
  run(settings: Settings<F>, operands: readonly string[]): Promise<number>;
}

export function one<T>(parse: (text: string) => T): (texts: readonly string[]) => T {
  return (texts) => parse(texts.at(-1)!);
}

export function anyText(text: string): string {
  if (text === "") throw new UsageError("some text");
  return text;
}

/** A switch is on when it is named; in the environment and in YAML it says `true` or `false`. */
export function onOrOff(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new UsageError("true or false");
}

export function environmentName(flag: string): string {
  return `SVC_${flag.toUpperCase().replaceAll("-", "_")}`;
}
