/** A node agent in a process of its own, which tests kill: tails a folder and sends to the hub of the test. */

import { NodeAgent } from "../../../server/kubernetes/node/node-agent.ts";
import type { PodInfo } from "../../../server/kubernetes/node/pod-lookup.ts";

const [folder, stateFolder, hub, pollMs, batchMs] = process.argv.slice(2);

const agent = new NodeAgent({
  logs: {
    folder: folder!,
    stateFolder: stateFolder!,
    node: "node-1",
    sink: async ({ key, rows }) => {
      const body = rows.map((row) => JSON.stringify(row)).join("\n");
      const response = await fetch(hub!, { method: "POST", headers: { "Idempotency-Key": key }, body });
      if (response.status !== 200) throw new Error(`status ${response.status}`);
    },
    pods: ({ pod }) => (pod.startsWith("late") ? undefined : infoOf(pod)),
    warn: (message) => process.stderr.write(`${message}\n`),
    elapsed: () => performance.now(),
    pollMs: Number(pollMs),
    batchMs: Number(batchMs),
  },
});

const infos = new Map<string, PodInfo>();

function infoOf(pod: string) {
  const info = infos.get(pod) ?? { service: pod.split("-")[0]!, labels: { app: pod }, workload: {} };
  infos.set(pod, info);
  return info;
}

process.on("SIGTERM", () => void agent.close());
process.on("message", () => process.send?.({ counts: agent.counts.logs, memory: process.memoryUsage().rss }));
await agent.run();
process.disconnect?.();
