/** Investigations: what one is asked, what it answers, and what people say of the answer. */

import * as z from "zod";
import { timeMs } from "./schema.ts";

/**
 * What kind of cause the evidence speaks for. `network`: time or failures on the way between services; `change`: a
 * rollout or another configuration; `outside`: a dependency that sends no telemetry; `unavailable`: pods or their node
 * are gone.
 */
const causeKinds = [
  "code",
  "exception",
  "latency",
  "network",
  "cpu",
  "memory",
  "change",
  "outside",
  "unavailable",
] as const;
export type CauseKind = (typeof causeKinds)[number];

const evidence = z
  .strictObject({
    id: z.string().meta({ description: "Unique within the investigation" }),
    sentence: z.string(),
    query: z
      .string()
      .meta({ description: "svcQL that finds the rows, or draws the series, of the sentence" }),
    at: z.int().optional().meta({ description: "When it showed first, Unix milliseconds" }),
    message: z.string().optional().meta({ description: "Of a log that shows it, shortened" }),
    rowId: z.string().optional().meta({ description: "Id of this log" }),
    traceId: z.string().optional().meta({ description: "Of a trace that shows it" }),
  })
  .meta({ id: "Evidence" });

export type StatedEvidence = z.infer<typeof evidence>;

const suspect = z
  .strictObject({
    service: z.string(),
    kind: z.enum(causeKinds),
    confidence: z.number().meta({ description: "How likely this service is the cause, from 0 to 1" }),
    score: z.number().meta({ description: "How strong the evidence is, from 0 to 1" }),
    pod: z.string().optional(),
    node: z.string().optional(),
    operation: z.string().optional(),
    caller: z.string().optional().meta({ description: "The service whose calls show it" }),
    evidence: z.array(evidence),
  })
  .meta({ id: "Suspect" });

export type StatedSuspect = z.infer<typeof suspect>;

const stated = z.strictObject({ at: z.int(), sentence: z.string(), service: z.string().optional() });
const step = z.strictObject({ sentence: z.string(), query: z.string().optional() });

/** `cause`: the first suspect is likely; `unsure`: something differs, and no suspect is likely; `nothing` differs. */
const verdicts = ["cause", "unsure", "nothing"] as const;

const investigationAnswer = z
  .strictObject({
    verdict: z.enum(verdicts),
    summary: z.string(),
    suspects: z.array(suspect).meta({ description: "The most likely first" }),
    timeline: z.array(stated).meta({ description: "What changed, the first change first" }),
    affected: z.array(step).meta({ description: "Who suffers" }),
    normal: z.array(z.string()).meta({ description: "What was looked at and does not differ" }),
    nextSteps: z.array(step),
    read: z.strictObject({
      spans: z.int(),
      logs: z.int(),
      series: z.int(),
      resources: z.int().meta({ description: "Rows of Kubernetes objects and Events" }),
    }),
    ms: z.int().meta({ description: "Milliseconds that it took" }),
    narrative: z
      .array(z.strictObject({ sentence: z.string(), evidence: z.array(z.string()) }))
      .optional()
      .meta({ description: "What a language model wrote; each sentence names the evidence for it" }),
    asked: z
      .array(z.strictObject({ id: z.string(), query: z.string(), sentence: z.string() }))
      .optional()
      .meta({ description: "What the language model asked further, as far as its sentences name it" }),
  })
  .meta({ id: "InvestigationAnswer" });

export type InvestigationAnswer = z.infer<typeof investigationAnswer>;

/** A fire that an investigation is about. */
const investigatedFire = z.strictObject({
  fireId: z.string(),
  alertId: z.string(),
  alertName: z.string(),
  rule: z.string(),
  labels: z.record(z.string(), z.string()),
  firedAt: z.int(),
});

/** Statuses: `waiting` until enough of what follows the fire has arrived. */
const investigationStatuses = ["waiting", "running", "completed", "failed"] as const;

export const feedbackShape = z.strictObject({
  verdict: z.enum(["right", "wrong"]),
  cause: z.string().max(1_000).optional().meta({ description: "The true cause, where the answer is wrong" }),
});

export const investigationShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(investigationStatuses),
    startTime: timeMs,
    endTime: timeMs,
    createdAt: z.int(),
    completedAt: z.int().nullable(),
    by: z.string().nullable().meta({ description: "Who asked; null where an alert did" }),
    traceId: z.string().nullable(),
    query: z.string().nullable(),
    fires: z.array(investigatedFire).meta({ description: "The fires that it explains" }),
    problem: z.string().nullable().meta({ description: "Why it failed" }),
    answer: investigationAnswer.nullable(),
    feedback: feedbackShape.extend({ by: z.string(), at: z.int() }).nullable(),
  })
  .meta({ id: "Investigation" });

export type StoredInvestigation = z.infer<typeof investigationShape>;

/** RFC 3339. */
const timeText = z.iso.datetime();
/** The short form of an answer that messages carry. */
export const investigationReport = z.object({
  investigationId: z.string(),
  completedAt: timeText,
  windowStart: timeText,
  windowEnd: timeText,
  summary: z.string(),
  confidence: z.number().meta({ description: "How likely the first suspect is the cause, from 0 to 1" }),
  suspects: z.array(suspect).meta({ description: "The most likely first, three at most" }),
  timeline: z.array(z.strictObject({ at: timeText, sentence: z.string() })),
  affected: z.array(z.string()),
  nextSteps: z.array(z.string()),
  fires: z
    .array(z.strictObject({ alertId: z.string(), alertName: z.string(), fireId: z.string() }))
    .meta({ description: "All fires that it explains" }),
});

export type InvestigationReport = z.infer<typeof investigationReport>;
