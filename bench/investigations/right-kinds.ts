/** Which kinds of causes are right answers for each type of fault. */

import type { Case } from "./case.ts";

type CauseKind = Case["answer"]["suspects"][number]["kind"];

/** By the types of labelled days, then by those of the simulated system. */
const rightKinds: Readonly<Record<string, readonly CauseKind[]>> = {
  return: ["code", "exception"],
  exception: ["exception", "code"],
  cpu_contention: ["cpu"],
  cpu_consumed: ["cpu"],
  network_delay: ["network"],
  "unhandled exception": ["exception", "code"],
  "skipped step": ["code"],
  "bad rollout": ["change"],
  "bad configuration": ["change"],
  "feature flag": ["code", "latency"],
  "noisy neighbour": ["cpu"],
  "CPU throttling": ["cpu", "change"],
  "memory leak": ["memory"],
  "thread pool full": ["latency", "exception", "code"],
  "connection pool exhausted": ["latency", "exception", "outside"],
  "disk full": ["outside", "exception", "code", "unavailable"],
  "crash loop": ["unavailable", "exception"],
  "slow query": ["outside", "latency"],
  "cache outage": ["outside", "exception"],
  "network delay": ["network"],
  "network partition": ["network"],
  "outside API failing": ["outside"],
  "queue backlog": ["latency", "cpu"],
  "node not ready": ["unavailable", "memory"],
  "image pull failure": ["unavailable", "change"],
};

/** Whether the first suspect is the faulty service, and its kind of cause is one that is right for the fault. */
export function isRightKind({ fault, place, answer }: Case): boolean {
  const [first] = answer.suspects;
  return place === 1 && (rightKinds[fault!.type] ?? []).includes(first!.kind);
}
