/** What the smaller benchmarks take on the command line: whole numbers in their order, and texts behind flags. */
import { parseArgs } from "node:util";
import { wholeNumber } from "./options.ts";

/**
 * The numbers, each the default where it is left out. `--help` prints the usage and ends the process; what cannot be read ends it with
 * status 2.
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
    const numbers = names.map((name, i) => wholeNumber(name, positionals[i] ?? String(defaults[name]), 1));
    return { numbers, texts: values as Partial<Record<Flag, string>> };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nUsage: ${usage}\n`);
    process.exit(2);
  }
}
