import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { logKinds, type QuestionKind, questionKinds, signalKinds } from "./question.ts";

const peerNames = ["duckdb", "clickhouse", "ripgrep"] as const;
export type PeerName = (typeof peerNames)[number];

/** `train-ticket`: the logs of the Train Ticket benchmark, where they are at hand. */
const setNames = ["system", "company", "train-ticket"] as const;
export type SetName = (typeof setNames)[number];

const partNames = ["queries", "signals", "size", "ingest", "mixed", "concurrency", "kernels"] as const;
type PartName = (typeof partNames)[number];

export interface BenchOptions {
  /** Rows of each data set; half as many samples of metrics. */
  rows: number;
  peers: PeerName[];
  sets: SetName[];
  parts: PartName[];
  /** Kinds of query to ask. */
  kinds: QuestionKind[];
  rounds: number;
  /** Where the figures go as JSON. */
  jsonFile: string;
  /** Where rows and stores lie meanwhile: on a disk, since a temporary folder may be memory. */
  dataFolder: string;
  /** The gzipped JSON lines of Train Ticket; undefined where they are not at hand. */
  trainTicketFile: string | undefined;
  /** Figures of an earlier run with fewer rows or another revision, to print ratios to. */
  against: string | undefined;
  /** Ends with 1 where a row misses its aim. */
  check: boolean;
  /** Writes CPU profiles of svc's process into the data folder. */
  profile: boolean;
  /** Another working copy of the project, to be measured as the only peer. */
  revisionRoot: string | undefined;
}

const here = (path: string): string => new URL(path, import.meta.url).pathname;

export const usage = `Usage: npm run bench -- [--rows N] [--peers LIST] [--only LIST] [--sets LIST] [--rounds N]
                        [--json FILE] [--against FILE] [--data DIR] [--train-ticket FILE] [--check] [--profile]
  --rows N             rows of each data set (2,000,000); half as many samples of metrics
  --peers LIST         ${peerNames.join(",")}, or none; all by default
  --only LIST          parts: ${partNames.join(", ")};
                       or kinds of query: ${logKinds.join(", ")};
                       of spans and metrics: ${signalKinds.join(", ")}
  --sets LIST          ${setNames.join(",")}; the last only where it is at hand
  --rounds N           fresh processes of each system, by turns (3)
  --json FILE          where the figures go as JSON (bench/results/latest.json)
  --against FILE       figures of another run, to print the ratios to
  --data DIR           where rows and stores lie meanwhile, on the disk to be measured (bench/data)
  --train-ticket FILE  logs.jsonl.gz of Train Ticket (../shared/data/train-ticket/logs.jsonl.gz beside the project)
  --check              ends with 1 where a row misses its aim
  --help               this text
  --profile            CPU profiles of svc's process, in the data folder
`;

/** Undefined where help is asked for. Throws an Error with a sentence for people. */
export function readOptions(args: string[]): BenchOptions | undefined {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const texts = { rows: text, peers: text, only: text, sets: text, rounds: text, json: text, data: text };
  // `--revision DIR` is for bench:compare: another working copy, measured in place of the peers.
  const more = { against: text, "train-ticket": text, revision: text, check: flag, profile: flag };
  const { values } = parseArgs({ args, options: { ...texts, ...more, help: flag } });
  if (values.help) return undefined;
  const trainTicketFile = values["train-ticket"] ?? here("../../shared/data/train-ticket/logs.jsonl.gz");
  const hasTrainTicket = existsSync(trainTicketFile);
  const sets = listOf("--sets", values.sets ?? setNames.join(","), setNames);
  if (sets.includes("train-ticket") && !hasTrainTicket) {
    if (values.sets !== undefined) throw new Error(`--sets train-ticket: there is no ${trainTicketFile}`);
    sets.splice(sets.indexOf("train-ticket"), 1);
  }
  const revisionRoot = values.revision;
  const peers =
    values.peers === "none" || revisionRoot !== undefined ? "" : (values.peers ?? peerNames.join());
  return {
    rows: wholeNumber("--rows", values.rows ?? "2000000", 1000),
    peers: listOf("--peers", peers, peerNames),
    sets,
    ...readOnly(values.only),
    rounds: wholeNumber("--rounds", values.rounds ?? "3", 1),
    jsonFile: values.json ?? here("results/latest.json"),
    dataFolder: values.data ?? here("data"),
    trainTicketFile: hasTrainTicket ? trainTicketFile : undefined,
    against: values.against,
    check: values.check,
    profile: values.profile,
    revisionRoot: revisionRoot === undefined ? undefined : resolve(revisionRoot),
  };
}

/** Everything in it can be made again. */
export function storesFolder({ dataFolder }: BenchOptions): string {
  return join(dataFolder, "stores");
}

function readOnly(only: string | undefined): Pick<BenchOptions, "parts" | "kinds"> {
  if (only === undefined) return { parts: [...partNames], kinds: [...questionKinds] };
  const chosen = listOf("--only", only, [...partNames, ...questionKinds]);
  const parts = partNames.filter((name) => chosen.includes(name));
  const kinds = questionKinds.filter((kind) => chosen.includes(kind));
  if (kinds.length === 0) return { parts, kinds: [...questionKinds] };
  const asked: PartName[] = [
    ...(kinds.some((kind) => isIn(logKinds, kind)) ? (["queries"] as const) : []),
    ...(kinds.some((kind) => isIn(signalKinds, kind)) ? (["signals"] as const) : []),
  ];
  return { parts: [...new Set([...parts, ...asked])], kinds };
}

function isIn(kinds: readonly QuestionKind[], kind: QuestionKind): boolean {
  return kinds.includes(kind);
}

function listOf<T extends string>(flag: string, text: string, names: readonly T[]): T[] {
  return text
    .split(",")
    .filter((word) => word !== "")
    .map((word) => {
      const name = names.find((one) => one === word);
      if (name === undefined) throw new Error(`${flag}: "${word}" is none of ${names.join(", ")}`);
      return name;
    });
}

/** Throws an Error with a sentence for people. */
export function wholeNumber(flag: string, text: string, least: number): number {
  const value = Number(text.replaceAll(/[_,]/g, ""));
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`${flag} must be a whole number of ${least.toLocaleString("en-US")} or more`);
  return value;
}
