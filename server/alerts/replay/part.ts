/** The part that replays alerts over stored rows for people: as searches, with the rights of whoever asks. */

import type { Part } from "../../api/part.ts";
import type { SearchPart } from "../../search/part.ts";
import type { AlertsPart } from "../part.ts";
import { explanationRoute } from "./explanation-route.ts";
import { previewRoute } from "./preview-route.ts";

export function replayPart({ evaluator, visibility }: AlertsPart, { searches }: SearchPart): Part {
  return {
    routes: [
      previewRoute({ searches, completeThroughMs: (alert) => evaluator.completeThroughMs(alert) }),
      explanationRoute({ searches, evaluator, visibility }),
    ],
  };
}
