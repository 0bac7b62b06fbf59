/** The command line of the smaller benchmarks: positional whole numbers, and flags that take a text. */
import { parseArgs } from "node:util";

/**
 * Returns the numbers in the order of `defaults`, and the texts of the flags that were given. `--help` prints the usage
 * and ends the process; an error ends it with status 2.
 */
export function readOperands<Flag extends string = never>(
  usage: string,
  defaults: Record<string, number>,
  flags: readonly Flag[] = [],
): { numbers: number[]; texts: Partial<Record<Flag, string>> } {
  const text = { type: "string" } as const;
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { ...Object.fromEntries(flags.map((flag) => [flag, text])), help: { type: "boolean" } },
    });
    if (values.help === true) {
      process.stdout.write(`Usage: ${usage}\n`);
      process.exit(0);
    }
    const names = Object.keys(defaults);
    if (positionals.length > names.length)
      throw new Error(`there is no place for "${positionals[names.length]}"`);
    const numbers = names.map((name, i) =>
      parseWholeNumber(name, positionals[i] ?? String(defaults[name]), 1),
    );
    return { numbers, texts: values as Partial<Record<Flag, string>> };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nUsage: ${usage}\n`);
    process.exit(2);
  }
}

/** Underscores and commas may group the digits. Throws an Error whose message is for people. */
export function parseWholeNumber(flag: string, text: string, least: number): number {
  const value = Number(text.replaceAll(/[_,]/g, ""));
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`${flag} must be a whole number of ${least.toLocaleString("en-US")} or more`);
  return value;
}
