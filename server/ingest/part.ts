/** Telemetry on its way in, by every protocol over HTTP. */

import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StoragePart } from "../storage/part.ts";
import type { AdmissionSettings, SenderLimits } from "./admission-settings.ts";
import { elasticsearchRoutes } from "./elasticsearch/routes.ts";
import { Intake } from "./intake.ts";
import { lokiRoutes } from "./loki/routes.ts";
import { otlpRoutes } from "./otlp/routes.ts";
import { remoteWriteRoutes } from "./prometheus/routes.ts";
import { ingestRoutes } from "./routes.ts";

export interface IngestSettings {
  ingestThreads?: number;
  /** Messages of logs that are JSON objects become attributes, unless the sender says otherwise. */
  flattensJson?: boolean;
  /** Which rows are taken, and what becomes of those that are too large. */
  entry?: AdmissionSettings;
  /** What a token may send that says nothing else. */
  senderLimits?: SenderLimits;
}

export interface IngestPart extends Part {
  intake: Intake;
}

export function ingestPart(
  { ingestThreads, flattensJson = false, entry = {}, senderLimits }: IngestSettings,
  { store }: Pick<StoragePart, "store">,
  { collections, tokens }: Pick<ControlPart, "collections" | "tokens">,
  metrics: Metrics,
): IngestPart {
  const { rowsPerSecond = null, bytesPerSecond = null } = senderLimits ?? {};
  const intake = new Intake({
    store,
    metrics,
    now: Date.now,
    flattensJson,
    entry,
    rules: () => collections.ingestionRules.list(),
    limitsOf: (sender) => ({ rowsPerSecond, bytesPerSecond, ...tokens.boundsOf(sender) }),
    ...(ingestThreads === undefined ? {} : { threads: ingestThreads }),
  });
  return {
    intake,
    routes: [
      ...ingestRoutes(intake),
      ...otlpRoutes(intake),
      ...lokiRoutes(intake),
      ...remoteWriteRoutes(intake),
      ...elasticsearchRoutes(intake),
    ],
    run: () => undefined,
    close: () => intake.close(),
  };
}
