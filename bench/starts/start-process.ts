/** One process of `bench/starts.ts`: it fills a data folder and is killed, or opens one and measures that. */
import { join } from "node:path";
import type { LogRow } from "../../engine/index.ts";

export type StartOrder = { root: string; dir: string } & (
  | { kind: "fill"; batches: number }
  | { kind: "open" }
);

export interface StartFigures {
  /** Rows that no chunk held at the start. */
  unsealedRows: number;
  openMs: number;
  /** CPU time of all threads. */
  openCpuMs: number;
  searchMs: number;
  searchCpuMs: number;
}

/** Batches that are appended at the same time. */
const batchesAtOnce = 100;

const order = JSON.parse(process.argv[2]!) as StartOrder;
const { openStore }: typeof import("../../engine/index.ts") = await import(
  join(order.root, "engine/index.ts")
);
if (order.kind === "fill") await fill(order.dir, order.batches);
else process.send!(await measure(order.dir), () => process.kill(process.pid, "SIGKILL"));

/** Appends the batches after a sealed chunk. Does not close the store. */
async function fill(dir: string, batches: number): Promise<void> {
  const store = await openStore({ dir });
  await store.append("logs", [makeRow(-1)]);
  await store.seal();
  for (let i = 0; i < batches; i += batchesAtOnce) {
    const numbers = Array.from({ length: Math.min(batchesAtOnce, batches - i) }, (_, k) => i + k);
    await Promise.all(numbers.map((number) => store.append("logs", [makeRow(number)])));
  }
  process.kill(process.pid, "SIGKILL");
}

function makeRow(number: number): LogRow {
  return {
    timeNs: BigInt(Date.now()) * 1_000_000n,
    level: "info",
    message: `order ${number} took ${number % 500} ms`,
    attributes: {
      "service.name": `service-${number % 7}`,
      pod: `pod-${number % 50}`,
      cluster: "a",
      namespace: "shop",
      trace_id: `${number * 7919}`,
    },
  };
}

async function measure(dir: string): Promise<StartFigures> {
  const opening = startClocks();
  const store = await openStore({ dir });
  const [openMs, openCpuMs] = opening();
  const { unsealedRows } = store.stats();
  const searching = startClocks();
  await store.search({ signal: "logs", fromNs: 0n, toNs: 1n << 62n, steps: [], limit: 100 });
  const [searchMs, searchCpuMs] = searching();
  return { unsealedRows, openMs, openCpuMs, searchMs, searchCpuMs };
}

/** Returns a function that reads the time and the CPU time since this call, in milliseconds. */
function startClocks(): () => [number, number] {
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(startedCpu);
    return [performance.now() - startedMs, (user + system) / 1_000];
  };
}
