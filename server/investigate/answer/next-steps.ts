/** What to do about a cause. */

import type { InvestigationAnswer, StatedSuspect } from "../../model/investigation.ts";
import { quote } from "../query-text.ts";
import { nameService } from "./wording.ts";

type Step = InvestigationAnswer["nextSteps"][number];

/** The most useful first. */
export function describeNextSteps(suspect: StatedSuspect): Step[] {
  const { service, evidence } = suspect;
  const traceId = evidence.find((each) => each.traceId !== undefined)?.traceId;
  const errors = `logs{service.name=${quote(service)}, log_level=~"^(?:error|fatal|warn)"}`;
  return [
    ...ofKind(suspect),
    ...(traceId === undefined ? [] : [{ sentence: `Open the trace ${traceId}, which shows it` }]),
    { sentence: `Read the errors and warnings of ${nameService(service)}`, query: errors },
  ];
}

function ofKind({ service, kind, pod, node, caller, operation, evidence }: StatedSuspect): Step[] {
  const [, cluster, namespace = "", name = ""] = /^\/(k8s)\/([^/]+)\/([^/]+)$/.exec(service) ?? [];
  const where = cluster === undefined ? undefined : `-n ${namespace}`;
  const short = nameService(service);
  const kubectl = (command: string) => (where === undefined ? "" : `: kubectl ${command} ${where}`);
  switch (kind) {
    case "change":
      return [{ sentence: `Roll ${short} back${kubectl(`rollout undo deployment/${name}`)}` }];
    case "cpu":
      return [
        {
          sentence: `See what takes the CPU${pod === undefined ? "" : ` beside or in the pod ${pod}`}, and whether its limit is too low${kubectl(`describe pod ${pod ?? ""}`.trim())}`,
        },
      ];
    case "memory":
      return [
        { sentence: `Compare the memory of ${short} with its limit; a restart helps until it grows again` },
      ];
    case "network":
      return [
        {
          sentence: `Check the network between ${caller === undefined ? "its callers" : nameService(caller)} and ${short}: the node, network policies, retransmissions, and what stands between`,
        },
      ];
    case "latency":
      return [
        {
          sentence: `See what ${short} waits for in ${operation === undefined ? "its slow spans" : `“${operation}”`}: a database, a lock, a pool, or itself`,
        },
      ];
    case "outside":
      return [{ sentence: `Check the dependency that ${short} calls, and its status page` }];
    case "unavailable":
      return [
        {
          sentence: `See why ${node === undefined ? "its pods are" : `the node ${node} is`} not there${kubectl(node === undefined ? "get events" : "get pods")}`,
        },
      ];
    case "exception":
    case "code": {
      const message = evidence.find((each) => each.message !== undefined)?.message;
      const begin =
        message === undefined ? "" : ` that logs “${message.slice(0, 80).replace(/\s+/g, " ").trim()}”`;
      return [{ sentence: `Look at the code of ${short}${begin}` }];
    }
  }
}
