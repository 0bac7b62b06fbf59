/** The answer of an investigation, as people read it. */

import type { QueryLimits } from "../../../engine/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { CauseKind, InvestigationAnswer, StatedSuspect } from "../../model/investigation.ts";
import type { Affected } from "../analysis/affected.ts";
import type { RatedSuspect } from "../analysis/analysis.ts";
import type { Incident } from "../analysis/telemetry.ts";
import { quote } from "../query-text.ts";
import { type ComparedEvidence, compareSuspect } from "./comparisons.ts";
import { describeSuspect } from "./evidence.ts";
import { addExample } from "./examples.ts";
import type { Finding } from "./finding.ts";
import { describeNextSteps } from "./next-steps.ts";
import { listNormal } from "./normal.ts";
import { findOutside } from "./outside.ts";
import { nameTemplates } from "./template-names.ts";
import { nameMs, nameService, nameShare } from "./wording.ts";

const suspectsMax = 5;
const evidenceMax = 10;
const outsideMax = 2;
/** Kinds of what may come from something that the suspect calls and that sends no telemetry. */
const mayBeOutside: ReadonlySet<CauseKind> = new Set(["latency", "exception", "code", "network"]);
const affectedMax = 5;
const timelineMax = 12;
/** Weaker evidence is of the noise that is always there. */
const scoreMin = 0.05;
/** From this confidence on the first suspect is named as the cause. */
const confidenceMin = 0.6;

/** Throws what the store throws. */
export async function composeAnswer(
  store: SearchableStore,
  finding: Finding,
  limits: QueryLimits,
): Promise<Omit<InvestigationAnswer, "ms">> {
  const { analysis, incident, read } = finding;
  const strong = analysis.suspects.filter(({ score }) => score >= scoreMin).slice(0, suspectsMax);
  const stated: StatedSuspect[] = [];
  for (const [i, suspect] of strong.entries())
    stated.push(await stateSuspect(store, suspect, String(i + 1), incident, limits));
  const suspects = await nameTemplates(store, stated, incident, limits);
  const isCause = (suspects[0]?.confidence ?? 0) >= confidenceMin;
  const verdict = isCause ? "cause" : suspects.length === 0 ? "nothing" : "unsure";
  return {
    ...{ verdict, summary: summarize(verdict, suspects, analysis.affected), suspects },
    timeline: orderTimeline(finding, suspects),
    affected: analysis.affected.slice(0, affectedMax).map(describeAffected),
    normal: listNormal(finding),
    nextSteps: isCause ? describeNextSteps(suspects[0]!) : [],
    read,
  };
}

async function stateSuspect(
  store: SearchableStore,
  suspect: RatedSuspect,
  number: string,
  incident: Incident,
  limits: QueryLimits,
): Promise<StatedSuspect> {
  const { service, confidence, score } = suspect;
  const isFirst = number === "1";
  const outside =
    isFirst && mayBeOutside.has(suspect.kind) ? await findOutside(store, service, incident, limits) : [];
  const compared = isFirst ? await compareSuspect(store, suspect, incident, limits) : [];
  const all = [...outside.slice(0, outsideMax), ...describeSuspect(suspect), ...compared];
  const evidence = await Promise.all(
    all
      .slice(0, evidenceMax)
      .map(({ pod: _, node: __, ...each }: ComparedEvidence, i) =>
        addExample(store, { id: `${number}.${i + 1}`, ...each }, incident, limits),
      ),
  );
  const [pod] = compared.flatMap((each) => each.pod ?? []);
  const [node] = compared.flatMap((each) => each.node ?? []);
  return {
    ...{ service, kind: outside.length > 0 ? "outside" : suspect.kind, confidence },
    ...{ score: Math.round(score * 100) / 100 },
    ...(pod === undefined ? {} : { pod }),
    ...(node === undefined ? {} : { node }),
    ...placeOf(suspect),
    evidence,
  };
}

/** Where in the service the evidence lies, as far as it lies in one place. */
function placeOf({ behaviour, latency, metrics, changes, kind }: RatedSuspect): Partial<StatedSuspect> {
  const [behaved] = behaviour?.changes ?? [];
  const [slow] = latency?.changes ?? [];
  const isSlow = kind === "latency" || kind === "network";
  const operation = (isSlow ? slow?.operation : behaved?.operation) || slow?.operation || behaved?.operation;
  const caller = isSlow ? slow?.caller : behaved?.caller;
  const metric = metrics.find((each) => each.class === kind);
  const change = changes[0];
  const [pod, node] = [change?.pod ?? metric?.pod, change?.node ?? (metric?.pod === "" ? metric.node : "")];
  return {
    ...(operation ? { operation } : {}),
    ...(caller ? { caller } : {}),
    ...(pod ? { pod } : {}),
    ...(node ? { node } : {}),
  };
}

function summarize(
  verdict: InvestigationAnswer["verdict"],
  suspects: readonly StatedSuspect[],
  affected: readonly Affected[],
): string {
  if (verdict === "nothing") return "Nothing in this window differs from the hour before";
  const [first, second] = suspects;
  const { service, kind, confidence, evidence } = first!;
  const suffering = affected.find(({ isEntry }) => isEntry);
  const harm =
    suffering === undefined ? "" : `; ${nameService(suffering.service)} suffers: ${tellHarm(suffering)}`;
  if (verdict === "cause")
    return `${nameService(service)} is the likely cause (${kind}, ${nameShare(confidence)}): ${evidence[0]?.sentence ?? ""}${harm}`;
  const others = second === undefined ? "" : ` or ${nameService(second.service)}`;
  return `Something differs, and no cause is likely enough to name; look at ${nameService(service)}${others} first${harm}`;
}

/** What changed, the first change first: evidence of the likely suspects, and changes of the cluster. */
function orderTimeline(
  { analysis, incident }: Finding,
  suspects: readonly StatedSuspect[],
): InvestigationAnswer["timeline"] {
  const shown = suspects
    .slice(0, 2)
    .flatMap(({ service, evidence }) =>
      evidence.flatMap(({ at, sentence }) => (at === undefined ? [] : [{ at, sentence, service }])),
    );
  const sentences = new Set(shown.map(({ sentence }) => sentence));
  const changes = analysis.changes
    .filter(({ sentence, weight }) => !sentences.has(sentence) && weight >= 0.3)
    .map(({ atMs: at, sentence, services: [service] }) => {
      return { at, sentence, ...(service === undefined ? {} : { service }) };
    });
  return [...shown, ...changes]
    .filter(({ at }) => at < incident.endMs)
    .sort((a, b) => a.at - b.at)
    .slice(0, timelineMax);
}

function describeAffected(affected: Affected): InvestigationAnswer["affected"][number] {
  const { service, operation, calls } = affected;
  return {
    sentence: `${nameService(service)} “${operation}” (${calls} calls): ${tellHarm(affected)}`,
    query: `traces{service.name=${quote(service)}, name=${quote(operation)}}`,
  };
}

function tellHarm({ errors, usualErrors, p90, usualP90 }: Affected): string {
  const failing =
    errors - usualErrors >= 0.05
      ? `${nameShare(errors)} of the calls fail, where ${nameShare(usualErrors)} is usual`
      : "";
  const slow =
    p90 > usualP90 * 1.5 ? `90 % take up to ${nameMs(p90)}, where ${nameMs(usualP90)} is usual` : "";
  return [failing, slow].filter((part) => part !== "").join(", and ");
}
