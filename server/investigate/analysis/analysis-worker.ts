/** Entry point of the thread of one analysis. */

import { parentPort, workerData } from "node:worker_threads";
import { type AnalysisTask, analyse } from "./analysis.ts";

parentPort!.postMessage(await analyse(workerData as AnalysisTask));
