/** One running server: the parts of it, in their order. */

import type { Store } from "../engine/index.ts";
import { type AlertsSettings, alertsPart } from "./alerts/part.ts";
import { PartList } from "./api/part.ts";
import { type ControlSettings, controlPart } from "./control/part.ts";
import { type HttpSettings, httpPart } from "./http/part.ts";
import { type IngestSettings, ingestPart } from "./ingest/part.ts";
import { type SyslogSettings, syslogPart } from "./ingest/syslog/part.ts";
import { Metrics } from "./metrics/metrics.ts";
import { type NotifyPartSettings, notifyPart } from "./notify/part.ts";
import { type OperationsSettings, operationsPart } from "./operations/part.ts";
import { type SearchSettings, searchPart } from "./search/part.ts";
import { openStorage, type StorageSettings } from "./storage/part.ts";

/** Everything that a server is started with; `svc help serve` explains the settings. */
export interface ServiceSettings
  extends StorageSettings,
    ControlSettings,
    IngestSettings,
    NotifyPartSettings,
    AlertsSettings,
    OperationsSettings,
    HttpSettings,
    SearchSettings,
    SyslogSettings {
  address: HttpSettings["address"];
  log: StorageSettings["log"];
}

/** A running server. */
export interface Service {
  /** `http://127.0.0.1:8080` */
  url: string;
  /** Where syslog is taken, over TCP and UDP; undefined where none is. */
  syslogPort: number | undefined;
  store: Store;
  adminTokenPath: string;
  /** "made": this start wrote the file. */
  adminToken: "made" | "there";
  /** Ends what is acknowledged, closes the store. */
  close(): Promise<void>;
}

/** Throws Failure or Error, one sentence for people, where the folder or the address cannot be used; nothing is left open then. */
export async function startService(settings: ServiceSettings): Promise<Service> {
  const parts = new PartList();
  const metrics = new Metrics();
  const { host, port } = settings.address;
  try {
    const storage = parts.add(await openStorage(settings));
    const control = parts.add(controlPart(settings, storage));
    const ingest = parts.add(ingestPart(settings, storage, control, metrics));
    const notify = parts.add(notifyPart(settings, urlOf(host, port), storage, control, metrics));
    parts.add(alertsPart(settings, storage, control, notify, metrics));
    parts.add(operationsPart(settings, storage, control, metrics));
    const http = parts.add(httpPart(settings, control, metrics, () => parts.routes));
    // Closed before the sockets, which wait for answers: a tail has to end first.
    parts.add(searchPart(settings, storage, control, metrics));
    const syslog = parts.add(syslogPart(settings, ingest, metrics));
    await parts.run();
    return {
      url: urlOf(host, http.port),
      syslogPort: syslog.port,
      store: storage.store,
      adminTokenPath: control.adminTokenPath,
      adminToken: control.adminToken,
      close: () => parts.close(),
    };
  } catch (error) {
    await parts
      .close()
      .catch((problem: unknown) => settings.log("error", `closing after a failed start: ${String(problem)}`));
    throw error;
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
