/** Flags of `svc serve` for alerts: how long evaluation waits for rows, and how long transitions are kept. */

import type { Signal } from "../../../engine/index.ts";
import { type Settings, takeLast } from "./flag.ts";
import { ageFlag } from "./shared-flags.ts";
import { parseAge, UsageError } from "./units.ts";

/** Listed here, since the engine is loaded by commands that need it alone. */
const signals = Object.keys({
  logs: true,
  traces: true,
  metrics: true,
  profiles: true,
  kubernetes_resources: true,
} satisfies Record<Signal, true>) as Signal[];
const hourMs = 3_600_000;
/** A longer delay of the server is likelier a slip of the pen; one alert may wait longer. */
const delayMsMax = hourMs;

export const alertFlags = {
  "alert-delay": {
    placeholder: "AGE",
    help: "how long alerts wait for the rows of a bucket; SIGNAL=AGE, such as metrics=1m, for one signal",
    defaultText: "30s",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseDelay),
  },
  "alert-late-rows": {
    placeholder: "AGE",
    help: "how much later rows may come and have their buckets judged again; 0 for never",
    default: "1h",
    parse: takeLast((text: string) => (text.trim() === "0" ? 0 : parseAge(text))),
  },
  "alert-downtime-wait": {
    ...ageFlag,
    help: "how long after a downtime of the server alerts wait for rows that senders repeat",
    default: "5m",
  },
  "alert-history": { ...ageFlag, help: "how long transitions of alerts are kept", default: "30d" },
} as const;

export function alertSettings(values: Settings<typeof alertFlags>) {
  const delays = values["alert-delay"] ?? [];
  const general = delays.findLast(({ signal }) => signal === undefined);
  const bySignal = delays.flatMap(({ signal, ms }): [Signal, number][] =>
    signal === undefined ? [] : [[signal, ms]],
  );
  return {
    alertTiming: {
      ...(general === undefined ? {} : { delayMs: general.ms }),
      signalDelaysMs: Object.fromEntries(bySignal) as Partial<Record<Signal, number>>,
      lateRowsMs: values["alert-late-rows"],
      retryWaitMs: values["alert-downtime-wait"],
      historyAgeMs: values["alert-history"],
    },
  };
}

function parseDelay(text: string): { signal: Signal | undefined; ms: number } {
  const [, name, age = ""] = /^(?:([a-z_]+)=)?(.*)$/.exec(text.trim()) ?? [];
  const signal = signals.find((each) => each === name);
  if (name !== undefined && signal === undefined) {
    throw new UsageError(`an age, or one of ${signals.join(", ")} with an age, such as metrics=1m`);
  }
  const ms = age === "0" ? 0 : parseAge(age);
  if (ms > delayMsMax) throw new UsageError("an age of an hour at most; an alert may have a longer one");
  return { signal, ms };
}
