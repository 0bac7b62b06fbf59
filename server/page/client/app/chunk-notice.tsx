/** Told above every screen once a part of the page could not be loaded, as after an upgrade of the server. */

import { isChunkMissing } from "../api/chunk.ts";

export function ChunkNotice() {
  if (!isChunkMissing.value) return null;
  return (
    <p class="problem" role="alert">
      A part of the page cannot be loaded: the server has another version by now, or cannot be reached.{" "}
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </p>
  );
}
