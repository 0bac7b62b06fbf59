/** `svc serve`: runs the server until a signal stops it. */

import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { Service } from "../service.ts";
import { admissionFlags, admissionSettings } from "./flags/admission-flags.ts";
import { alertFlags, alertSettings } from "./flags/alert-flags.ts";
import { type Command, parseText, type Settings, takeLast } from "./flags/flag.ts";
import { identityFlags, identitySettings } from "./flags/identity-flags.ts";
import { kubernetesFlags, kubernetesSettings } from "./flags/kubernetes-flags.ts";
import { modelFlags, modelSettings } from "./flags/model-flags.ts";
import { notifyFlags, notifySettings } from "./flags/notify-flags.ts";
import {
  ageFlag,
  configFlag,
  dataFlag,
  memoryFlag,
  refuseOperands,
  sizeFlag,
  switchFlag,
} from "./flags/shared-flags.ts";
import { parseHostPort, parseInteger, parseTime, UsageError } from "./flags/units.ts";
import { restartWithMemorySettings } from "./memory-start.ts";
import { limitStop, waitForStopSignal } from "./stop-signal.ts";

/** The value that switches a listener off. */
const off = "off";
function parseGrpcAddress(text: string) {
  if (text.trim() === off) return off;
  try {
    return parseHostPort(text);
  } catch {
    throw new UsageError("HOST:PORT such as 127.0.0.1:4317, or off");
  }
}

/** Where SDKs send by default. Another program may listen there: then the server goes without. */
const grpcAddressDefault = { host: "127.0.0.1", port: 4317, isOptional: true };

const threads = { placeholder: "N", parse: takeLast((text: string) => parseInteger(text, 1, 256)) };

const flags = {
  data: dataFlag,
  listen: {
    placeholder: "HOST:PORT",
    help: "where to listen; port 0 takes a free one",
    default: "127.0.0.1:8080",
    parse: takeLast(parseHostPort),
  },
  retention: {
    ...ageFlag,
    help: "removes rows older than this, such as 30d",
    defaultText: "everything is kept",
  },
  "retention-before": {
    placeholder: "DATE",
    help: "removes days before this date although many are too old at once, which a wrong clock would also cause",
    defaultText: "such days are kept, with a warning",
    parse: takeLast((text: string) => parseTime(text, Date.now())),
  },
  "retention-bytes": {
    ...sizeFlag,
    help: "removes the oldest rows when the data takes more, such as 100GiB",
    defaultText: "everything is kept",
  },
  "anonymous-read": {
    ...switchFlag,
    help: "lets requests without a token search even where other machines can reach the server",
  },
  "host-name": {
    placeholder: "NAME",
    help: "a name besides localhost that requests may use in their Host header when listening on loopback",
    defaultText: "none",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map((text) => parseText(text).toLowerCase()),
  },
  memory: memoryFlag,
  "query-deadline": { ...ageFlag, help: "gives up searches that take longer", default: "30s" },
  "query-memory": {
    ...sizeFlag,
    help: "memory that one search may hold on each thread, within what --memory leaves for searches",
    default: "1GiB",
  },
  "column-cache": {
    ...sizeFlag,
    help: "memory for decoded columns, over all scan threads",
    defaultText: "about half of --memory",
  },
  "metric-series": {
    placeholder: "N",
    help: "series of metrics that may be active: seen today or yesterday; samples of more are refused",
    default: "1000000",
    parse: takeLast((text: string) => parseInteger(text, 1, 100_000_000)),
  },
  "scan-threads": {
    ...threads,
    help: "threads that search",
    defaultText: "one a core, fewer with little --memory",
  },
  "ingest-threads": {
    ...threads,
    help: "threads that read what is sent",
    defaultText: "half of the cores, fewer with little --memory",
  },
  "flatten-json": {
    ...switchFlag,
    help: "makes attributes of log messages that are JSON objects, unless the sender says otherwise",
  },
  "otlp-grpc": {
    placeholder: "HOST:PORT",
    help: "takes OTLP over gRPC there; off takes none",
    defaultText: "127.0.0.1:4317, where that is free",
    parse: takeLast(parseGrpcAddress),
  },
  syslog: {
    placeholder: "HOST:PORT",
    help: "takes syslog there, over TCP and UDP, without any token",
    defaultText: "none is taken",
    parse: takeLast(parseHostPort),
  },
  gelf: {
    placeholder: "HOST:PORT",
    help: "takes GELF there, over TCP and UDP, without any token",
    defaultText: "none is taken",
    parse: takeLast(parseHostPort),
  },
  fluent: {
    placeholder: "HOST:PORT",
    help: "takes Fluent's forward protocol there, over TCP, without any token",
    defaultText: "none is taken",
    parse: takeLast(parseHostPort),
  },
  "fluent-key": {
    placeholder: "KEY",
    help: "the shared_key that senders of Fluent's forward protocol must have",
    defaultText: "whoever reaches the port may send",
    isSecret: true,
    parse: takeLast(parseText),
  },
  ...admissionFlags,
  ...identityFlags,
  ...alertFlags,
  ...notifyFlags,
  ...modelFlags,
  ...kubernetesFlags,
  "notify-restored": {
    ...switchFlag,
    help: "sends notifications from a data folder that svc restore made; it need be told once",
  },
  config: configFlag,
} as const;

export const serve: Command<typeof flags> = {
  name: "serve",
  summary: "runs the server",
  operands: "",
  output: "log",
  flags,
  details: [
    "SIGTERM and Ctrl-C take no more requests, end what is acknowledged and exit; a second Ctrl-C exits at once.",
    "The first start writes an admin token to the data folder.",
  ],
  run: async (settings, operands) => {
    refuseOperands("serve", operands);
    restartWithMemorySettings("serve", settings.memory ?? undefined);
    const stopped = waitForStopSignal("what is acknowledged is kept");
    const { startService } = await import("../service.ts");
    const service = await startService({
      ...serviceSettings(settings),
      ownCluster: await kubernetesSettings(settings),
    });
    await printAddress(service, resolve(settings.data));
    await stopped;
    limitStop();
    await service.close();
    process.stdout.write("svc has stopped\n");
    // Receivers of messages that have not answered would keep the process.
    process.exit(0);
  },
};

function serviceSettings(settings: Settings<typeof flags>) {
  return {
    dataDir: resolve(settings.data),
    address: settings.listen,
    anonymousRead: settings["anonymous-read"],
    hostNames: settings["host-name"] ?? [],
    queryDeadlineMs: settings["query-deadline"],
    queryMemoryBytes: settings["query-memory"],
    flattensJson: settings["flatten-json"],
    grpcAddress: grpcAddressOf(settings["otlp-grpc"]),
    syslogAddress: settings.syslog ?? undefined,
    gelfAddress: settings.gelf ?? undefined,
    fluentAddress: settings.fluent ?? undefined,
    fluentKey: settings["fluent-key"] ?? undefined,
    ...admissionSettings(settings),
    ...identitySettings(settings),
    ...alertSettings(settings),
    notify: notifySettings(settings),
    ...modelSettings(settings),
    notifiesRestored: settings["notify-restored"],
    retentionAgeMs: settings.retention ?? undefined,
    retentionBeforeMs: settings["retention-before"] ?? undefined,
    retentionBytes: settings["retention-bytes"] ?? undefined,
    memoryBytes: settings.memory ?? undefined,
    columnCacheBytes: settings["column-cache"] ?? undefined,
    metricSeriesMax: settings["metric-series"],
    scanThreads: settings["scan-threads"] ?? undefined,
    ingestThreads: settings["ingest-threads"] ?? undefined,
    log: (level: string, message: string) => {
      process.stderr.write(`${new Date().toISOString()} ${level} ${message}\n`);
    },
  };
}

function grpcAddressOf(setting: Settings<typeof flags>["otlp-grpc"]) {
  if (setting === null) return grpcAddressDefault;
  return setting === off ? undefined : { ...setting, isOptional: false };
}

async function printAddress(service: Service, dataDir: string): Promise<void> {
  const made = service.adminToken === "made" ? " (made by this start, readable by its owner alone)" : "";
  const token = (await isReadable(service.adminTokenPath))
    ? `${service.adminTokenPath}${made}`
    : "no file; kept elsewhere";
  const grpc = service.grpcPort === undefined ? "" : `OTLP over gRPC: port ${service.grpcPort}\n`;
  const { describeMemory } = await import("../../engine/index.ts");
  const memory = `memory: ${describeMemory(service.memory)}\n`;
  process.stdout.write(
    `svc listens on ${service.url}\n${grpc}data folder: ${dataDir}\n${memory}admin token: ${token}\n`,
  );
}

async function isReadable(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
