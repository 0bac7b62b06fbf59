/**
 * Opens damaged environments for writing, reads them and writes to them; checks that values that were not written
 * survived.
 */
import { readFileSync } from "node:fs";
import { Failure } from "../../../engine/failure.ts";
import { type LmdbEnvironment, openEnvironment } from "../../../engine/lmdb/environment.ts";
import { auditPageTree } from "../../../engine/lmdb/page-audit.ts";
import type { ChildResult, ChildTask } from "./damage-campaign.ts";
import { copyEnvironment, damageFile } from "./random-environment.ts";

const task = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as ChildTask;
const stored = new Map(task.stored);
const result: ChildResult = { opened: 0, refused: 0, failures: [] };

for (const damages of task.cases) {
  // The parent counts these lines: the last one names the case that ended the process.
  process.stdout.write("case\n");
  const file = copyEnvironment(task.whole, task.scratch);
  damageFile(file, damages);
  const environment = runOrDamage(() => openEnvironment(task.scratch, { readOnly: false }), damages);
  if (environment === undefined) result.refused++;
  else await exercise(environment, file, damages);
}
console.log(JSON.stringify(result));

async function exercise(environment: LmdbEnvironment, file: string, damages: unknown): Promise<void> {
  result.opened++;
  const intactKeys = [...stored]
    .filter(([key, frame]) => readHex(environment, key, damages) === frame)
    .map(([key]) => key);
  const touched = new Set<string>();
  for (let round = 0; round < 4; round++) {
    try {
      await environment.write((to) => {
        for (const [i, key] of [...stored.keys()].entries()) {
          if (i % 5 !== round) continue;
          touched.add(key);
          if (i % 2 === 0) to.remove(Buffer.from(key, "hex"));
          else to.put(Buffer.from(key, "hex"), Buffer.alloc((i * 977) % 9_000, round));
        }
        for (let i = 0; i < 10; i++) to.put(Buffer.from(`new ${round} ${i}`), Buffer.alloc(i * 2_000, i));
      });
    } catch (error) {
      runOrDamage(() => {
        throw error;
      }, damages);
    }
  }
  for (const key of intactKeys) {
    if (!touched.has(key) && readHex(environment, key, damages) !== stored.get(key)) {
      result.failures.push(`a write destroyed ${key} after ${JSON.stringify(damages)}`);
    }
  }
  await environment.close();
  const { problems } = auditPageTree(file);
  if (problems.length > 0)
    result.failures.push(`unsound after writes, ${JSON.stringify(damages)}: ${problems[0]}`);
}

function readHex(environment: LmdbEnvironment, key: string, damages: unknown): string | undefined {
  const value = runOrDamage(() => environment.get(Buffer.from(key, "hex")), damages);
  return value && Buffer.from(value).toString("hex");
}

/** Runs `act`; Failure "damage" gives undefined, any other error is a failure of the campaign. */
function runOrDamage<T>(act: () => T, damages: unknown): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof Failure && error.kind === "damage") return undefined;
    result.failures.push(`${JSON.stringify(damages)}: ${(error as Error).stack}`);
    return undefined;
  }
}
