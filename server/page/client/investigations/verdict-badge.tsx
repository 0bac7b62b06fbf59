/** What came of an investigation, in two words. */

import type { InvestigationVerdict } from "./answers.ts";

const names: Readonly<Record<InvestigationVerdict, string>> = {
  cause: "cause found",
  unsure: "not sure",
  nothing: "nothing differs",
};

export function VerdictBadge({ verdict }: { verdict: InvestigationVerdict | null }) {
  if (verdict === null) return <span class="badge error">failed</span>;
  return <span class={verdict === "cause" ? "badge firing" : "badge"}>{names[verdict]}</span>;
}
