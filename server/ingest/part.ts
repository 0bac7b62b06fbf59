/** The ingestion part: routes of every protocol over HTTP, and the intake behind them. */

import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StoragePart } from "../storage/part.ts";
import type { AdmissionSettings, SenderLimits } from "./admission-settings.ts";
import { datadogRoutes } from "./datadog/routes.ts";
import { elasticsearchRoutes } from "./elasticsearch/routes.ts";
import { gelfRoutes } from "./gelf/routes.ts";
import { influxRoutes } from "./influx/routes.ts";
import { Intake } from "./intake.ts";
import { jaegerRoutes } from "./jaeger/routes.ts";
import { journaldRoutes } from "./journald/routes.ts";
import { lokiRoutes } from "./loki/routes.ts";
import { otlpRoutes } from "./otlp/routes.ts";
import { PieceIntake } from "./pieces/piece-intake.ts";
import { BoundedBodies } from "./pieces/shared-bodies.ts";
import { remoteWriteRoutes } from "./prometheus/routes.ts";
import { ingestRoutes } from "./routes.ts";
import { splunkRoutes } from "./splunk/routes.ts";
import { zipkinRoutes } from "./zipkin/routes.ts";

export interface IngestSettings {
  /** CPU time in which a decoding thread reads a group of bodies, where it is not the default. */
  decodeMsMax?: number | undefined;
  /** Log messages that are JSON objects become attributes, unless the sender chooses otherwise. */
  flattensJson?: boolean;
  /** Which rows are admitted, and what happens to those that are too large. */
  admission?: AdmissionSettings;
  /** The limits of a token that has none of its own. */
  senderLimits?: SenderLimits;
}

export interface IngestPart extends Part {
  intake: Intake;
}

export function ingestPart(
  { decodeMsMax, flattensJson = false, admission = {}, senderLimits }: IngestSettings,
  { store, memory }: Pick<StoragePart, "store" | "memory">,
  { collections, tokens }: Pick<ControlPart, "collections" | "tokens">,
  metrics: Metrics,
): IngestPart {
  const { rowsPerSecond = null, bytesPerSecond = null } = senderLimits ?? {};
  const intake = new Intake({
    store,
    memory,
    metrics,
    now: Date.now,
    flattensJson,
    admission,
    rules: () => collections.ingestionRules.list(),
    limitsOf: (sender) => ({ rowsPerSecond, bytesPerSecond, ...tokens.boundsOf(sender) }),
    ...(decodeMsMax === undefined ? {} : { decodeMsMax }),
  });
  const bodies = new BoundedBodies(memory.requestBytes / 2);
  return {
    intake,
    routes: [
      ...ingestRoutes({ intake, pieces: new PieceIntake(store, intake), memory, bodies }),
      ...otlpRoutes(intake),
      ...lokiRoutes(intake),
      ...remoteWriteRoutes(intake),
      ...elasticsearchRoutes(intake),
      ...splunkRoutes(intake),
      ...zipkinRoutes(intake),
      ...jaegerRoutes(intake),
      ...datadogRoutes(intake),
      ...journaldRoutes(intake),
      ...gelfRoutes(intake),
      ...influxRoutes(intake),
    ],
    close: () => intake.close(),
  };
}
