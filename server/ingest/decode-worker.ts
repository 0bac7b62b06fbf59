/** Entry point of a decoding thread: decodes the groups of bodies that it gets, in order. */

import { parentPort, workerData } from "node:worker_threads";
import { findOwnThread, SeriesMemory } from "../../engine/index.ts";
import { decodeBody } from "./decode.ts";
import {
  type BodyResult,
  type BodyTask,
  type DecodeAnswer,
  type DecodeTask,
  type DecodeThreadData,
  listBuffers,
} from "./decode-task.ts";

const { position, seriesBytesMax } = workerData as DecodeThreadData;
SeriesMemory.keptBytesMax = seriesBytesMax;

/** Batches' bytes are in shared memory; only bodies that may have to be read again are transferred back. */
parentPort!.on("message", (tasks: DecodeTask) => {
  const results = tasks.map((task, i) => {
    Atomics.store(position, 0, i);
    return decodeOrReport(task, () => {
      const answer: DecodeAnswer = { read: i };
      parentPort!.postMessage(answer);
    });
  });
  parentPort!.postMessage(results, results.flatMap(listBodies));
});

const ready: DecodeAnswer = { thread: findOwnThread() };
parentPort!.postMessage(ready);

function listBodies(result: BodyResult): ArrayBuffer[] {
  if (!("decoded" in result) || !result.decoded.ok || result.decoded.documents === undefined) return [];
  return listBuffers([result.decoded.documents.body]);
}

/** A fault in the decoder is reported for the body that it happened with, and not for its whole group. */
function decodeOrReport(task: BodyTask, onRead: () => void): BodyResult {
  try {
    return { decoded: decodeBody(task, onRead) };
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
