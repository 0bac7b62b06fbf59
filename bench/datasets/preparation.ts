import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../paths.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import {
  type BenchDataset,
  type DatasetOptions,
  makeEmptyQuestions,
  type SignalSetName,
  signalSetNames,
} from "./dataset.ts";
import { makeLogSet } from "./log-set.ts";
import { makeSignalSet } from "./signal-set.ts";

/** Makes the rows and the questions, or takes them from an earlier run of the same sources. */
export async function prepareDataset(options: DatasetOptions, show: ShowProgress): Promise<BenchDataset> {
  await mkdir(options.dataFolder, { recursive: true });
  const base = join(options.dataFolder, `${options.name}-${options.rows}-${await hashSources()}`);
  const datasetFile = `${base}.json`;
  if (existsSync(datasetFile)) return JSON.parse(await readFile(datasetFile, "utf8"));
  const { facts, questions } = isSignalSet(options)
    ? await makeSignalSet(options, base, show)
    : await makeLogSet(options, base, show);
  const dataset: BenchDataset = { ...facts, questions: { ...makeEmptyQuestions(), ...questions } };
  await writeFile(`${datasetFile}.tmp`, JSON.stringify(dataset));
  await rename(`${datasetFile}.tmp`, datasetFile);
  return dataset;
}

function isSignalSet(options: DatasetOptions): options is DatasetOptions & { name: SignalSetName } {
  return signalSetNames.some((name) => name === options.name);
}

/** Hashes the code that makes rows and questions, so that changed code makes new files. */
async function hashSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of [join(projectRoot, "fixtures"), import.meta.dirname]) {
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
    for (const name of names) hash.update(await readFile(join(folder, name)));
  }
  return hash.digest("hex").slice(0, 8);
}
