/** The state of an alert, in colour and as a word. */

import type { AlertStateName } from "./answers.ts";
import { stateNames } from "./names.ts";

export function StateBadge({ state }: { state: AlertStateName }) {
  return <span class={`badge ${state}`}>{stateNames[state]}</span>;
}
