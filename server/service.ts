/** One running server: store, state, workers and HTTP, wired together. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Store, StoredState, StoreEvent } from "../engine/index.ts";
import { forgetRestored, openState, openStore, restoredFrom } from "../engine/index.ts";
import { adminTokenFile, ensureAdminToken } from "./access/admin-token.ts";
import { type AccessRules, isLoopbackName } from "./access/authentication.ts";
import { IdentityProvider } from "./access/identity-provider.ts";
import { Tokens } from "./access/tokens.ts";
import { Alerting, type NotifySettings } from "./alerts/alerting.ts";
import { type AlertSight, alertRoutes } from "./alerts/routes.ts";
import { withId } from "./alerts/state/alert-definition.ts";
import { withDocumentation } from "./api/documentation.ts";
import { type Control, openControl } from "./control/control.ts";
import { drainMsMax } from "./http/limits.ts";
import { openHttp } from "./http/server.ts";
import type { ListenAddress } from "./http/sockets.ts";
import type { AdmissionSettings, SenderLimits } from "./ingest/admission-settings.ts";
import { elasticsearchRoutes } from "./ingest/elasticsearch/routes.ts";
import { Intake } from "./ingest/intake.ts";
import { lokiRoutes } from "./ingest/loki/routes.ts";
import { otlpRoutes } from "./ingest/otlp/routes.ts";
import { remoteWriteRoutes } from "./ingest/prometheus/routes.ts";
import { ingestRoutes } from "./ingest/routes.ts";
import { listenSyslog, type SyslogListener } from "./ingest/syslog/listener.ts";
import { Metrics } from "./metrics/metrics.ts";
import { readStoreMetrics } from "./metrics/store-metrics.ts";
import type { Caller } from "./model/caller.ts";
import { backupRoute } from "./operations/backup-route.ts";
import { healthRoutes } from "./operations/health.ts";
import { fieldsRoute } from "./search/fields-route.ts";
import { histogramRoute } from "./search/histogram-route.ts";
import { searchDrainMsMax } from "./search/limits.ts";
import { logsRoute } from "./search/logs-route.ts";
import { patternsRoute } from "./search/patterns-route.ts";
import { Searches } from "./search/searches.ts";
import { Tails } from "./search/tails.ts";
import { timeseriesRoute } from "./search/timeseries-route.ts";
import { traceRoute } from "./search/trace-route.ts";
import { tracesRoute } from "./search/traces-route.ts";
import { valuesRoute } from "./search/values-route.ts";

export interface ServiceSettings {
  dataDir: string;
  address: ListenAddress;
  /** Requests without a token may read although others than this machine can reach the server. */
  anonymousRead: boolean;
  /** Names besides its own that the server answers to on loopback. */
  hostNames: readonly string[];
  /** Undefined keeps everything. */
  retentionAgeMs?: number;
  retentionBytes?: number;
  /** Memory for decoded columns, over all scan threads; filters may take a sixteenth more. */
  columnCacheBytes?: number;
  /** Series of metrics that may be active. */
  metricSeriesMax?: number;
  scanThreads?: number;
  ingestThreads?: number;
  /** Messages of logs that are JSON objects become attributes, unless the sender says otherwise. */
  flattensJson?: boolean;
  /** Which rows are taken, and what becomes of those that are too large. */
  entry?: AdmissionSettings;
  /** What a token may send that says nothing else. */
  senderLimits?: SenderLimits;
  /** Where syslog is taken, over TCP and UDP; undefined takes none. */
  syslogAddress?: ListenAddress;
  /** Whose users may ask with its tokens; without it only bearers of the server's own tokens may. */
  identity?: IdentitySettings;
  queryDeadlineMs: number;
  queryMemoryBytes: number;
  /** How notifications are sent; without it only to webhooks of public addresses. */
  notify?: Partial<NotifySettings>;
  /** A folder that was made of a backup sends notifications from now on. */
  notifiesRestored?: boolean;
  log: (level: StoreEvent["level"], message: string) => void;
}

/** An identity provider (OpenID Connect). */
interface IdentitySettings {
  issuer: string;
  /** One of them must be a token's. */
  audiences: readonly string[];
  groupsClaim: string;
}

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
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const store = await openStoreOf(settings);
    closers.push(() => store.close());
    const state = await openState(join(settings.dataDir, "control"));
    closers.push(() => state.close());
    for (const { where, problem } of state.damage) settings.log("error", `damage: ${where}: ${problem}`);
    const { http, tails, intake, metrics, control, alerting, searches, adminToken } = await serve(
      settings,
      store,
      state,
    );
    closers.push(() => control.close());
    closers.push(() => intake.close());
    closers.push(() => alerting.close());
    closers.push(async () => {
      const timer = setTimeout(() => searches.end(), searchDrainMsMax);
      await http.close(drainMsMax);
      clearTimeout(timer);
    });
    closers.push(async () => tails.close());
    const syslog = await syslogOf(settings, intake, metrics);
    if (syslog !== undefined) closers.push(() => syslog.close());
    const adminTokenPath = join(settings.dataDir, adminTokenFile);
    const url = urlOf(settings.address.host, http.port);
    return { url, syslogPort: syslog?.port, store, adminTokenPath, adminToken, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function syslogOf(
  { syslogAddress, log }: ServiceSettings,
  intake: Intake,
  metrics: Metrics,
): Promise<SyslogListener | undefined> {
  if (syslogAddress === undefined) return undefined;
  return listenSyslog({ address: syslogAddress, intake, metrics, log: (message) => log("error", message) });
}

async function openStoreOf(settings: ServiceSettings): Promise<Store> {
  const { dataDir, retentionAgeMs, retentionBytes, columnCacheBytes, metricSeriesMax, scanThreads } =
    settings;
  try {
    return await openStore({
      dir: dataDir,
      threads: scanThreads ?? availableParallelism(),
      ...(retentionAgeMs === undefined ? {} : { retentionAgeMs }),
      ...(retentionBytes === undefined ? {} : { retentionBytes }),
      ...(columnCacheBytes === undefined ? {} : { columnCacheBytes }),
      ...(metricSeriesMax === undefined ? {} : { seriesMax: metricSeriesMax }),
      log: (event) => settings.log(event.level, event.message),
    });
  } catch (error) {
    const reason = folderProblems[(error as NodeJS.ErrnoException).code ?? ""];
    throw reason === undefined ? error : new Error(`the data folder ${dataDir} cannot be used: ${reason}`);
  }
}

/** What the operating system's refusals mean to whoever chose the folder. */
const folderProblems: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of its path is a file",
  EEXIST: "it is a file",
  ENOSPC: "the disk is full",
};

async function serve(settings: ServiceSettings, store: Store, state: StoredState) {
  const now = Date.now;
  const metrics = new Metrics();
  readStoreMetrics(metrics, store, state);
  const tokens = new Tokens(state, now);
  const adminToken = await ensureAdminToken(tokens, settings.dataDir, now());
  const control = openControl({
    state,
    tokens,
    append: (rows) => store.append("logs", rows),
    syncDashboards: null,
    now,
    log: (message) => settings.log("error", message),
  });
  const intake = openIntake(settings, { store, metrics, tokens, control });
  const { queryDeadlineMs: deadlineMs, queryMemoryBytes: memoryBytes } = settings;
  const storeFor = (caller: Caller) => control.storeFor(store, caller);
  const searches = new Searches({ storeFor, metrics, deadlineMs, memoryBytes });
  const { stepsFor } = control;
  const tails = new Tails({ store, storeFor, stepsFor, metrics, deadlineMs, memoryBytes });
  const holdsNotifications = await holdsBack(settings);
  const alerting = openAlerting(settings, { store, state, metrics, control, holdsNotifications });
  const { dataDir, log } = settings;
  const { audit } = control;
  const routes = withDocumentation([
    ...healthRoutes(() => store.stats().refusing ?? null, metrics),
    ...ingestRoutes(intake),
    ...otlpRoutes(intake),
    ...lokiRoutes(intake),
    ...remoteWriteRoutes(intake),
    ...elasticsearchRoutes(intake),
    logsRoute(searches),
    timeseriesRoute(searches),
    patternsRoute(searches),
    tracesRoute(searches),
    histogramRoute(searches),
    fieldsRoute(searches),
    valuesRoute(searches),
    traceRoute(searches),
    tails.route(),
    ...control.routes,
    ...alertRoutes({ alerting, ...seenBy(control) }),
    backupRoute({ store, state, audit, dataDir, log: (message) => log("error", message) }),
  ]);
  try {
    await alerting.run();
    const http = await openHttp({
      address: settings.address,
      routes,
      access: accessRules(settings, tokens, control),
      onRefused: (request) => control.audit.refused(request),
      metrics,
      log: (message) => settings.log("error", message),
    });
    return { http, tails, intake, metrics, control, alerting, searches, adminToken };
  } catch (error) {
    tails.close();
    await alerting.close();
    await control.close();
    await intake.close();
    throw error;
  }
}

function openIntake(
  { ingestThreads, flattensJson = false, entry = {}, senderLimits }: ServiceSettings,
  { store, metrics, tokens, control }: { store: Store; metrics: Metrics; tokens: Tokens; control: Control },
): Intake {
  const { rowsPerSecond = null, bytesPerSecond = null } = senderLimits ?? {};
  return new Intake({
    store,
    metrics,
    now: Date.now,
    flattensJson,
    entry,
    rules: () => control.collections.ingestionRules.list(),
    limitsOf: (sender) => ({ rowsPerSecond, bytesPerSecond, ...tokens.boundsOf(sender) }),
    ...(ingestThreads === undefined ? {} : { threads: ingestThreads }),
  });
}

/** The server that a backup was made of may still be telling what this one would tell. */
async function holdsBack({ dataDir, notifiesRestored = false, log }: ServiceSettings): Promise<boolean> {
  const restored = await restoredFrom(dataDir);
  if (restored === undefined) return false;
  if (notifiesRestored) await forgetRestored(dataDir);
  else {
    const taken = new Date(restored.takenAtMs).toISOString();
    log(
      "warn",
      `the data folder was made of a backup of ${taken}: notifications wait until the server is started with --notify-restored`,
    );
  }
  return !notifiesRestored;
}

function openAlerting(
  settings: ServiceSettings,
  parts: {
    store: Store;
    state: StoredState;
    metrics: Metrics;
    control: Control;
    holdsNotifications: boolean;
  },
): Alerting {
  const { control, ...others } = parts;
  const { alerts, webhooks, silences } = control.collections;
  const { host, port } = settings.address;
  return new Alerting({
    ...others,
    now: Date.now,
    storeFor: (whole, caller) => control.storeOnBehalf(whole, caller),
    maySilence: (caller, alertId) => control.sight.maySilence(caller, alertId),
    queryMemoryBytes: settings.queryMemoryBytes,
    log: settings.log,
    notify: { publicUrl: urlOf(host, port), allowedNetworks: [], pagerDutyKeys: {}, ...settings.notify },
    sources: {
      alerts: () => alerts.list(),
      alertCount: () => alerts.size,
      webhook: (id) => webhooks.get(id),
      silences: () => silences.list(),
    },
  });
}

/** What callers may see and do of alerts and webhooks. */
function seenBy({ collections: { alerts, webhooks }, sight }: Control): AlertSight {
  return {
    alertOf: (id, caller) => {
      const stored = alerts.get(id);
      if (stored === undefined || !sight.sees(caller, "alerts", stored)) return undefined;
      return {
        alert: withId(stored.value, id),
        mayTell: sight.mayUse(caller, "alerts", "update", "configure", stored),
        isWhole: sight.readsAllOf(caller, stored.updatedBy),
      };
    },
    webhookOf: (id, caller) => {
      const stored = webhooks.get(id);
      if (stored === undefined || !sight.sees(caller, "webhooks", stored)) return undefined;
      return { mayTell: sight.mayUse(caller, "webhooks", "update", "configure", stored) };
    },
  };
}

function accessRules(settings: ServiceSettings, tokens: Tokens, control: Control): AccessRules {
  const onLoopback = isLoopbackName(settings.address.host);
  const { identity, log } = settings;
  const provider =
    identity && new IdentityProvider({ ...identity, now: Date.now, log: (message) => log("warn", message) });
  return {
    /** Once rules say who reads what, nobody reads without saying who asks. */
    get anonymousReads() {
      const { telemetryRules } = control.collections;
      return (onLoopback || settings.anonymousRead) && telemetryRules.list().length === 0;
    },
    onLoopback,
    hostNames: settings.hostNames,
    callerOf: (token) => tokens.callerOf(token),
    userOf: provider && (async (token) => control.memberOf(await provider.identify(token))),
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
