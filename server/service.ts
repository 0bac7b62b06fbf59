/** One running server: makes its parts in their order, and starts and closes them. */

import type { MemoryBudget, Store } from "../engine/index.ts";
import { type AlertsSettings, alertsPart } from "./alerts/part.ts";
import { replayPart } from "./alerts/replay/part.ts";
import { PartList } from "./api/part.ts";
import { type ControlSettings, controlPart } from "./control/part.ts";
import type { DeliveryKnowledge } from "./control/resource-kinds.ts";
import { type HttpSettings, httpPart } from "./http/part.ts";
import { type FluentSettings, fluentPart } from "./ingest/fluent/part.ts";
import { type GelfSettings, gelfPart } from "./ingest/gelf/part.ts";
import { type IngestSettings, ingestPart } from "./ingest/part.ts";
import { type SyslogSettings, syslogPart } from "./ingest/syslog/part.ts";
import { type InvestigateSettings, investigatePart } from "./investigate/part.ts";
import { type KubernetesSettings, kubernetesHubPart } from "./kubernetes/hub/part.ts";
import { Metrics } from "./metrics/metrics.ts";
import { type NotifyKnowledge, type NotifyPartSettings, notifyPart } from "./notify/part.ts";
import { type OperationsSettings, operationsPart } from "./operations/part.ts";
import { serverAddressPart } from "./operations/server-address-part.ts";
import { type PageSettings, pagePart } from "./page/part.ts";
import { type SearchSettings, searchPart } from "./search/part.ts";
import { type SignInSettings, signInPart } from "./sign-in/part.ts";
import { openStorage, type StorageSettings } from "./storage/part.ts";

/** Settings of a server: those of all its parts. */
export interface ServiceSettings
  extends StorageSettings,
    ControlSettings,
    IngestSettings,
    NotifyPartSettings,
    AlertsSettings,
    InvestigateSettings,
    OperationsSettings,
    HttpSettings,
    SearchSettings,
    SyslogSettings,
    FluentSettings,
    GelfSettings,
    PageSettings,
    SignInSettings,
    KubernetesSettings {
  address: HttpSettings["address"];
  log: StorageSettings["log"];
}

/** A running server. */
export interface Service {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  url: string;
  /** Port for OTLP over gRPC; undefined where nothing listens. */
  grpcPort: number | undefined;
  /** Port of the syslog listener, TCP and UDP; undefined without one. */
  syslogPort: number | undefined;
  /** Port of the listener for GELF, TCP and UDP; undefined without one. */
  gelfPort: number | undefined;
  /** Port of the listener for Fluent's forward protocol; undefined without one. */
  fluentPort: number | undefined;
  /** The store of telemetry, for reading and writing past HTTP. */
  store: Store;
  /** What the process may take, and how that is divided. */
  memory: MemoryBudget;
  /** Path of the admin-token file. */
  adminTokenPath: string;
  /** "made" where this start wrote the file. */
  adminToken: "made" | "there";
  /** Closes all parts in the reverse order; what was acknowledged is stored. */
  close(): Promise<void>;
}

/**
 * Starts a server in this process. Throws Failure or Error, whose message is one sentence for people, where the data
 * folder or an address cannot be used; nothing is left open then.
 */
export async function startService(given: ServiceSettings): Promise<Service> {
  const parts = new PartList();
  const metrics = new Metrics();
  const { host, port } = given.address;
  try {
    const storage = parts.add(await openStorage(given));
    // A search cannot hold more than there is for all of them.
    const { columns, queries } = storage.memory.parts;
    const settings = { ...given, queryMemoryBytes: Math.min(given.queryMemoryBytes, columns + queries) };
    // These are known by parts that stand on those who ask. They are asked only once all parts are there.
    const delivery: DeliveryKnowledge = {
      undeliverable: (alert, path) => notify.notifier.undeliverable(alert, path),
      isWebhookOff: (uuid) => notify.notifier.isWebhookOff(uuid),
    };
    const known: NotifyKnowledge = {
      secret: ({ cluster, namespace }, reference) => kubernetes.channel.secret(cluster, namespace, reference),
      openFires: () => alerts.evaluator.records.openFires(),
    };
    const control = parts.add(controlPart(settings, storage, delivery));
    const kubernetes = parts.add(kubernetesHubPart(settings, control));
    const ingest = parts.add(ingestPart(settings, storage, control, metrics));
    const notify = parts.add(notifyPart(settings, formatUrl(host, port), storage, control, metrics, known));
    const alerts = parts.add(alertsPart(settings, storage, control, notify, metrics));
    parts.add(operationsPart(settings, storage, control, metrics));
    parts.add(pagePart(settings));
    const signIn = parts.add(signInPart(settings, settings.notify?.publicUrl, storage, control, metrics));
    const { accessRules } = signIn;
    const notReady = () => storage.store.stats().refusing ?? null;
    const http = parts.add(
      httpPart(
        settings,
        { ...control, accessRules, metrics, memory: storage.memory, notReady },
        () => parts.routes,
      ),
    );
    // Behind `http`, so that they are closed first: tails and polls must end before the sockets wait for open answers.
    const search = parts.add(searchPart(settings, storage, control, metrics));
    parts.add(replayPart(alerts, search));
    parts.add(investigatePart(settings, { storage, control, notify, alerts, search, metrics }));
    parts.add({ close: () => kubernetes.channel.close() });
    parts.add(serverAddressPart(settings.dataDir, () => formatUrl(host, http.port)));
    const socketBytes = storage.memory.socketBytes / countListeners(settings);
    const syslog = parts.add(syslogPart(settings, ingest, socketBytes, metrics));
    const gelf = parts.add(gelfPart(settings, ingest, socketBytes, metrics));
    const fluent = parts.add(fluentPart(settings, ingest, socketBytes, metrics));
    await parts.run();
    return {
      url: formatUrl(host, http.port),
      grpcPort: http.grpcPort,
      syslogPort: syslog.port,
      gelfPort: gelf.port,
      fluentPort: fluent.port,
      store: storage.store,
      memory: storage.memory,
      adminTokenPath: control.adminTokenPath,
      adminToken: control.adminToken,
      close: () => parts.close(),
    };
  } catch (error) {
    await parts
      .close()
      .catch((problem: unknown) => given.log("error", `closing after a failed start: ${String(problem)}`));
    throw error;
  }
}

/** Listeners whose messages share memory; one where there is none. */
function countListeners({ syslogAddress, gelfAddress, fluentAddress }: ServiceSettings): number {
  return Math.max(1, [syslogAddress, gelfAddress, fluentAddress].filter(Boolean).length);
}

function formatUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
