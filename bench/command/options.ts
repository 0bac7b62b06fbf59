/** The command line of `npm run bench`. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type LogSetName, logSetNames } from "../datasets/dataset.ts";
import { logKinds, type QuestionKind, questionKinds, signalKinds } from "../datasets/question.ts";
import { benchPath, projectRoot } from "../paths.ts";
import { type PeerName, peerNames } from "../systems/system.ts";
import { parseWholeNumber } from "./operands.ts";

const partNames = ["queries", "signals", "size", "ingest", "mixed", "concurrency", "kernels"] as const;
type PartName = (typeof partNames)[number];

export interface BenchOptions {
  /** Rows of each data set; sets of samples have half as many, the wide one a quarter. */
  rows: number;
  peers: PeerName[];
  sets: LogSetName[];
  parts: PartName[];
  /** Kinds of questions to ask. */
  kinds: QuestionKind[];
  rounds: number;
  /** Where the figures are written as JSON. */
  jsonFile: string;
  /** Holds rows and stores during the run. On a disk: a temporary folder may be memory. */
  dataFolder: string;
  /** Train Ticket's gzipped JSON lines; undefined where they are not at hand. */
  trainTicketFile: string | undefined;
  /** The figures of another run to compare with: fewer rows, or another revision. */
  against: string | undefined;
  /** Exits with 1 where a row misses its aim. */
  check: boolean;
  /** Writes CPU profiles of svc's processes into the data folder. */
  profile: boolean;
  /** Another working copy of the project, measured in place of the peers. */
  revisionRoot: string | undefined;
}

export const usage = `Usage: npm run bench -- [--rows N] [--peers LIST] [--only LIST] [--sets LIST] [--rounds N]
                        [--json FILE] [--against FILE] [--data DIR] [--train-ticket FILE] [--check] [--profile]
  --rows N             rows of each data set (2,000,000); half as many samples of metrics, a quarter of wide ones
  --peers LIST         ${peerNames.join(",")}, or none; all by default
  --only LIST          parts: ${partNames.join(", ")};
                       or kinds of query: ${logKinds.join(", ")};
                       of spans and metrics: ${signalKinds.join(", ")}
  --sets LIST          ${logSetNames.join(",")}; the last only where it is at hand
  --rounds N           fresh processes of each system, by turns (3)
  --json FILE          where the figures go as JSON (bench/results/latest.json)
  --against FILE       figures of another run, to print the ratios to
  --data DIR           where rows and stores lie meanwhile, on the disk to be measured (bench/data)
  --train-ticket FILE  logs.jsonl.gz of Train Ticket (../shared/data/train-ticket/logs.jsonl.gz beside the project)
  --check              ends with 1 where a row misses its aim
  --help               this text
  --profile            CPU profiles of svc's process, in the data folder
`;

/** Returns undefined for `--help`. Throws an Error whose message is for people. */
export function readOptions(args: string[]): BenchOptions | undefined {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const texts = { rows: text, peers: text, only: text, sets: text, rounds: text, json: text, data: text };
  // `--revision DIR` is for `bench:compare` and not in the usage.
  const more = { against: text, "train-ticket": text, revision: text, check: flag, profile: flag };
  const { values } = parseArgs({ args, options: { ...texts, ...more, help: flag } });
  if (values.help) return undefined;
  const trainTicketFile =
    values["train-ticket"] ?? join(projectRoot, "../shared/data/train-ticket/logs.jsonl.gz");
  const hasTrainTicket = existsSync(trainTicketFile);
  const sets = parseList("--sets", values.sets ?? logSetNames.join(","), logSetNames);
  if (sets.includes("train-ticket") && !hasTrainTicket) {
    if (values.sets !== undefined) throw new Error(`--sets train-ticket: there is no ${trainTicketFile}`);
    sets.splice(sets.indexOf("train-ticket"), 1);
  }
  const revisionRoot = values.revision;
  const peers =
    values.peers === "none" || revisionRoot !== undefined ? "" : (values.peers ?? peerNames.join());
  return {
    rows: parseWholeNumber("--rows", values.rows ?? "2000000", 1000),
    peers: parseList("--peers", peers, peerNames),
    sets,
    ...parseOnly(values.only),
    rounds: parseWholeNumber("--rounds", values.rounds ?? "3", 1),
    jsonFile: values.json ?? benchPath("results/latest.json"),
    dataFolder: values.data ?? benchPath("data"),
    trainTicketFile: hasTrainTicket ? trainTicketFile : undefined,
    against: values.against,
    check: values.check,
    profile: values.profile,
    revisionRoot: revisionRoot === undefined ? undefined : resolve(revisionRoot),
  };
}

/** The folder of the stores under test. Everything in it can be made again. */
export function storesFolderOf({ dataFolder }: BenchOptions): string {
  return join(dataFolder, "stores");
}

function parseOnly(only: string | undefined): Pick<BenchOptions, "parts" | "kinds"> {
  if (only === undefined) return { parts: [...partNames], kinds: [...questionKinds] };
  const chosen = parseList("--only", only, [...partNames, ...questionKinds]);
  const parts = partNames.filter((name) => chosen.includes(name));
  const kinds = questionKinds.filter((kind) => chosen.includes(kind));
  if (kinds.length === 0) return { parts, kinds: [...questionKinds] };
  const implied: PartName[] = [
    ...(kinds.some((kind) => includesKind(logKinds, kind)) ? (["queries"] as const) : []),
    ...(kinds.some((kind) => includesKind(signalKinds, kind)) ? (["signals"] as const) : []),
  ];
  return { parts: [...new Set([...parts, ...implied])], kinds };
}

function includesKind(kinds: readonly QuestionKind[], kind: QuestionKind): boolean {
  return kinds.includes(kind);
}

function parseList<T extends string>(flag: string, text: string, names: readonly T[]): T[] {
  return text
    .split(",")
    .filter((word) => word !== "")
    .map((word) => {
      const name = names.find((one) => one === word);
      if (name === undefined) throw new Error(`${flag}: "${word}" is none of ${names.join(", ")}`);
      return name;
    });
}
