/** `svc serve`: runs the server until a signal stops it. */

import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { Service } from "../service.ts";
import { admissionFlags, admissionSettings } from "./flags/admission-flags.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { parseSwitch, parseText, takeLast } from "./flags/flag.ts";
import { identityFlags, identitySettings } from "./flags/identity-flags.ts";
import { notifyFlags, notifySettings } from "./flags/notify-flags.ts";
import { configFlag, dataFlag } from "./flags/shared-flags.ts";
import { parseAge, parseHostPort, parseInteger, parseSize, UsageError } from "./flags/units.ts";

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
    placeholder: "AGE",
    help: "removes rows older than this, such as 30d",
    defaultText: "everything is kept",
    parse: takeLast(parseAge),
  },
  "retention-bytes": {
    placeholder: "SIZE",
    help: "removes the oldest rows when the data takes more, such as 100GiB",
    defaultText: "everything is kept",
    parse: takeLast(parseSize),
  },
  "anonymous-read": {
    placeholder: null,
    help: "lets requests without a token search even where other machines can reach the server",
    default: "false",
    parse: takeLast(parseSwitch),
  },
  "host-name": {
    placeholder: "NAME",
    help: "a name besides localhost that requests may use in their Host header when listening on loopback",
    defaultText: "none",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map((text) => parseText(text).toLowerCase()),
  },
  "query-deadline": {
    placeholder: "AGE",
    help: "gives up searches that take longer",
    default: "30s",
    parse: takeLast(parseAge),
  },
  "query-memory": {
    placeholder: "SIZE",
    help: "memory that one search may hold",
    default: "1GiB",
    parse: takeLast(parseSize),
  },
  "column-cache": {
    placeholder: "SIZE",
    help: "memory for decoded columns, over all scan threads; filters may take a sixteenth more",
    defaultText: "a quarter of the machine's",
    parse: takeLast(parseSize),
  },
  "metric-series": {
    placeholder: "N",
    help: "series of metrics that may be active: seen today or yesterday; samples of more are refused",
    default: "1000000",
    parse: takeLast((text: string) => parseInteger(text, 1, 100_000_000)),
  },
  "scan-threads": { ...threads, help: "threads that search", defaultText: "one a core" },
  "ingest-threads": { ...threads, help: "threads that read what is sent", defaultText: "half of the cores" },
  "flatten-json": {
    placeholder: null,
    help: "makes attributes of log messages that are JSON objects, unless the sender says otherwise",
    default: "false",
    parse: takeLast(parseSwitch),
  },
  syslog: {
    placeholder: "HOST:PORT",
    help: "takes syslog there, over TCP and UDP, without any token",
    defaultText: "none is taken",
    parse: takeLast(parseHostPort),
  },
  ...admissionFlags,
  ...identityFlags,
  ...notifyFlags,
  "notify-restored": {
    placeholder: null,
    help: "sends notifications from a data folder that svc restore made; it need be told once",
    default: "false",
    parse: takeLast(parseSwitch),
  },
  config: configFlag,
} as const;

/** A signal this soon after the first is the same key press: both npm and the terminal pass it on. */
const sameKeyPressMs = 500;

export const serve: Command<typeof flags> = {
  name: "serve",
  formatSummary: "runs the server",
  operands: "",
  flags,
  details: [
    "SIGTERM and Ctrl-C take no more requests, end what is acknowledged and exit; a second Ctrl-C exits at once.",
    "The first start writes an admin token to the data folder.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 0)
      throw new UsageError(`serve takes no ${JSON.stringify(operands[0])}: the folder goes behind --data`);
    const stopped = waitForStopSignal();
    const { startService } = await import("../service.ts");
    const service = await startService(serviceSettings(settings));
    await printAddress(service, resolve(settings.data));
    await stopped;
    await service.close();
    process.stdout.write("svc has stopped\n");
    return 0;
  },
};

function serviceSettings(settings: Settings<typeof flags>) {
  const { retention, listen } = settings;
  const retentionBytes = settings["retention-bytes"];
  const columnCacheBytes = settings["column-cache"];
  const scanThreads = settings["scan-threads"];
  const ingestThreads = settings["ingest-threads"];
  const { syslog } = settings;
  return {
    dataDir: resolve(settings.data),
    address: listen,
    anonymousRead: settings["anonymous-read"],
    hostNames: settings["host-name"] ?? [],
    queryDeadlineMs: settings["query-deadline"],
    queryMemoryBytes: settings["query-memory"],
    flattensJson: settings["flatten-json"],
    ...(syslog === null ? {} : { syslogAddress: syslog }),
    ...admissionSettings(settings),
    ...identitySettings(settings),
    notify: notifySettings(settings),
    notifiesRestored: settings["notify-restored"],
    ...(retention === null ? {} : { retentionAgeMs: retention }),
    ...(retentionBytes === null ? {} : { retentionBytes }),
    ...(columnCacheBytes === null ? {} : { columnCacheBytes }),
    metricSeriesMax: settings["metric-series"],
    ...(scanThreads === null ? {} : { scanThreads }),
    ...(ingestThreads === null ? {} : { ingestThreads }),
    log: (level: string, message: string) => {
      process.stderr.write(`${new Date().toISOString()} ${level} ${message}\n`);
    },
  };
}

async function printAddress(service: Service, dataDir: string): Promise<void> {
  const made = service.adminToken === "made" ? " (made by this start, readable by its owner alone)" : "";
  const token = (await isReadable(service.adminTokenPath))
    ? `${service.adminTokenPath}${made}`
    : "no file; kept elsewhere";
  process.stdout.write(`svc listens on ${service.url}\ndata folder: ${dataDir}\nadmin token: ${token}\n`);
}

async function isReadable(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Resolves at the first SIGINT, SIGTERM or SIGHUP. A second one after `sameKeyPressMs` ends the process. */
function waitForStopSignal(): Promise<void> {
  let firstAtMs: number | null = null;
  return new Promise((resolveStop) => {
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAtMs === null) {
        firstAtMs = performance.now();
        process.stderr.write(`${signal}: stopping; what is acknowledged is kept (once more: exit at once)\n`);
        resolveStop();
      } else if (performance.now() - firstAtMs > sameKeyPressMs) {
        process.exit(130);
      }
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
