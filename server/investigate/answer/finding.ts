/** What an answer is made of. */

import type { InvestigationAnswer } from "../../model/investigation.ts";
import type { Analysis } from "../analysis/analysis.ts";
import type { Incident } from "../analysis/telemetry.ts";

export interface Finding {
  incident: Incident;
  analysis: Analysis;
  read: InvestigationAnswer["read"];
}
