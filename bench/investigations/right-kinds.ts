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
  "early return": ["code"],
  "swallowed exception": ["code", "exception"],
  "bad rollout": ["change"],
  "bad configuration": ["change"],
  "CPU contention": ["cpu"],
  "CPU throttling": ["cpu"],
  "memory leak": ["memory"],
  "collector pauses": ["latency", "memory", "cpu"],
  "pool exhausted": ["latency", "exception"],
  "slow query": ["outside", "latency"],
  "cache outage": ["outside"],
  "full threads": ["latency", "exception"],
  "network delay": ["network"],
  "packet loss": ["network"],
  "network partition": ["network", "unavailable"],
  "outside failure": ["outside"],
  "overloaded node": ["cpu"],
  "lost node": ["unavailable"],
  "crash loop": ["unavailable", "memory", "exception"],
};

/** Whether the first suspect is the faulty service, and its kind of cause is one that is right for the fault. */
export function isRightKind({ fault, place, answer }: Case): boolean {
  const [first] = answer.suspects;
  return place === 1 && (rightKinds[fault!.type] ?? []).includes(first!.kind);
}
