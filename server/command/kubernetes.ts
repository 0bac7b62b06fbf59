/** `svc kubernetes validate`: says without a cluster what is wrong with manifests. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { suggest } from "../text/suggestion.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { labelFlags } from "./flags/kubernetes-flags.ts";
import { configFlag } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { escapeText } from "./output/terminal.ts";

const flags = { ...labelFlags, config: configFlag } as const;

export const kubernetes: Command<typeof flags> = {
  name: "kubernetes",
  summary: "says what an API server and the hub would refuse of manifests",
  operands: "validate FILE…",
  output: "report",
  flags,
  details: [
    "svc kubernetes validate alerts.yaml deploy/   reads files, and .yaml, .yml and .json in folders; - is the input",
    "",
    "Looks at svc's custom resources and labelled ConfigMaps. Exits with 1 where one of them would be refused.",
  ],
  run: async (settings, [action, ...operands]) => {
    if (action !== "validate")
      throw new UsageError(`kubernetes takes validate FILE…${suggest(action ?? "", ["validate"])}`);
    if (operands.length === 0)
      throw new UsageError("kubernetes validate needs a FILE, a folder, or - for the input");
    return validate(settings, operands);
  },
};

async function validate(settings: Settings<typeof flags>, operands: readonly string[]): Promise<number> {
  const { validateManifests } = await import("../kubernetes/manifest-tools.ts");
  const labels = { alert: settings["alert-label"], dashboard: settings["dashboard-label"] };
  let taken = 0;
  let refused = 0;
  let skipped = 0;
  for (const file of operands.flatMap(listFiles)) {
    const content = file === "-" ? await text(process.stdin) : readFileSync(file, "utf8");
    const findings = validateManifests(content, labels);
    skipped += findings.skipped;
    for (const { line, subject, problem, warnings } of findings.found) {
      const place = `${file === "-" ? "stdin" : file}:${line}: ${subject}`;
      if (problem === undefined) taken++;
      else refused++;
      print(`${place}: ${problem ?? "ok"}`);
      for (const warning of warnings) print(`${place}: warning: ${warning}`);
    }
  }
  if (taken + refused === 0 && skipped === 0) print("no objects were found");
  const others = skipped === 0 ? "" : `; ${skipped} of other kinds were not looked at`;
  process.stderr.write(`${taken} would be taken, ${refused} refused${others}\n`);
  return refused > 0 ? 1 : 0;
}

/** Further lines of a message are indented. */
function print(message: string): void {
  process.stdout.write(`${escapeText(message).replaceAll("\n", "\n    ")}\n`);
}

/** The files of a folder in the order of their names. Throws an Error for people. */
function listFiles(path: string): string[] {
  if (path === "-" || !statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
  return names.filter((name) => /\.(?:ya?ml|json)$/i.test(name)).map((name) => join(path, name));
}
