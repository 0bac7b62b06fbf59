/** Parts of the page that are loaded when they are first needed. */

import { signal } from "@preact/signals";
import { ApiProblem } from "./client.ts";

/** True once a part could not be loaded: a browser does not ask for it again before the page is loaded again. */
export const isChunkMissing = signal(false);

/** Loads a part. Rejects with ApiProblem, after the shell was told. */
export async function loadChunk<Chunk>(load: () => Promise<Chunk>): Promise<Chunk> {
  try {
    return await load();
  } catch {
    isChunkMissing.value = true;
    throw new ApiProblem("A part of the page is missing. Load the page again.", 0);
  }
}
