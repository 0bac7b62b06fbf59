import { fork } from "node:child_process";
import { once } from "node:events";
import type { LoadFigure, QueryFigure, StoreFigure } from "./figures.ts";
import type { StepProgress } from "./progress.ts";
import type { Workload } from "./workload.ts";

/** Parts of the benchmark that open the engine as a library, each in a process of its own, so that its memory is its own. */
export interface Parts {
  appends: LoadFigure[];
  store: { load: LoadFigure; store: StoreFigure; queries: QueryFigure[] };
}

/** What a part's process is sent. */
export interface PartOrder {
  part: keyof Parts;
  workload: Workload;
}

/** What it sends back. */
export type PartMessage =
  | { kind: "progress"; progress: StepProgress }
  | { kind: "figures"; figures: Parts[keyof Parts] };

/** Runs a part in a fresh process. Throws where it fails. */
export async function runPart<P extends keyof Parts>(
  part: P,
  workload: Workload,
  show: (progress: StepProgress) => void,
): Promise<Parts[P]> {
  const child = fork(new URL("library.ts", import.meta.url), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let figures: Parts[P] | undefined;
  child.on("message", (message: PartMessage) => {
    if (message.kind === "progress") show(message.progress);
    else figures = message.figures as Parts[P];
  });
  child.send({ part, workload } satisfies PartOrder);
  const [code] = await once(child, "exit");
  if (figures === undefined) throw new Error(`the part "${part}" ended with code ${code} and no figures`);
  return figures;
}
