/**
 * `node bench/kubernetes.ts [BODIES [ROUNDS]]`: ingestion rules on OTLP logs as the gateway of a cluster applies them,
 * on one core. Prints records a second without rules, through twenty rules, and through twenty that search messages.
 */
import { filterProtobuf, makeRuleSet } from "../server/index.ts";
import { readOperands } from "./command/operands.ts";
import { makeLogBodies, messageRules, rowsPerBody, rules } from "./kubernetes/exclusion.ts";

const { numbers } = readOperands("node bench/kubernetes.ts [BODIES [ROUNDS]]", { BODIES: 100, ROUNDS: 9 });
const [bodyCount, rounds] = numbers as [number, number];
const bodies = makeLogBodies(bodyCount);
const records = bodyCount * rowsPerBody;
const cases = [
  ["no rules", []],
  [`${rules.length} rules`, rules],
  [`${messageRules.length} rules that search messages`, messageRules],
] as const;

console.log(`${records.toLocaleString("en")} records in ${bodyCount} bodies, median of ${rounds} rounds`);
const times = new Map<string, number[]>(cases.map(([name]) => [name, []]));
let dropped = new Map<string, number>();
for (let round = -1; round < rounds; round++) {
  for (const [name, sent] of cases) {
    const fields = makeRuleSet(sent, undefined, "main").rules.fieldsOf("logs");
    let excluded = 0;
    const startedAtMs = performance.now();
    for (const body of bodies) {
      for (const count of filterProtobuf(body, "logs", fields).dropped) excluded += count;
    }
    const elapsedMs = performance.now() - startedAtMs;
    // The first round warms the code up.
    if (round >= 0) times.get(name)!.push(elapsedMs);
    dropped = dropped.set(name, excluded);
  }
}
for (const [name, elapsed] of times) {
  const medianMs = elapsed.sort((a, b) => a - b)[Math.floor(elapsed.length / 2)]!;
  const rate = Math.round((records / medianMs) * 1_000).toLocaleString("en");
  const share = ((100 * dropped.get(name)!) / records).toFixed(1);
  console.log(`${name.padEnd(32)} ${rate.padStart(12)} records/s, ${share} % excluded`);
}
