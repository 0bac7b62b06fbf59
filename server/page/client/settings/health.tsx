/** How the server itself is: rows in, what it stores, what waits, and what is wrong. */

import { useSignal } from "@preact/signals";
import { useLoading } from "../api/loading.ts";
import { formatValue } from "../charts/format-value.ts";
import { usePolling } from "../ui/polling.ts";
import { TableBox } from "../ui/table-box.tsx";
import { type Figure, loadMetrics, sumOf } from "./metrics-text.ts";

const pollMs = 5_000;
const signals = ["logs", "traces", "metrics", "profiles", "kubernetes_resources"];

interface Look {
  atMs: number;
  figures: Figure[];
}

export function Health() {
  const before = useSignal<Look | undefined>(undefined);
  const loading = useLoading(async (_: undefined, signal: AbortSignal): Promise<Look> => {
    const figures = await loadMetrics(signal);
    return { atMs: performance.now(), figures };
  });
  usePolling(
    () => {
      before.value = loading.answer.peek();
      void loading.load(undefined);
    },
    pollMs,
    "",
  );
  const look = loading.answer.value;
  return (
    <section aria-label="Health">
      <h1>Health</h1>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {look === undefined ? null : (
        <>
          <Signals look={look} before={before.value} />
          <Parts figures={look.figures} />
        </>
      )}
    </section>
  );
}

function Signals({ look, before }: { look: Look; before: Look | undefined }) {
  const rateOf = (signal: string) => {
    if (before === undefined || before.atMs === look.atMs) return undefined;
    const name = "svc_ingest_rows_total";
    const rows = sumOf(look.figures, name, { signal }) - sumOf(before.figures, name, { signal });
    return (rows * 1_000) / (look.atMs - before.atMs);
  };
  return (
    <TableBox label="Signals">
      <table>
        <thead>
          <tr>
            <th scope="col">Signal</th>
            <th scope="col" class="number">
              Rows in a second
            </th>
            <th scope="col" class="number">
              Rows stored
            </th>
            <th scope="col" class="number">
              Not yet in chunks
            </th>
            <th scope="col" class="number">
              On disk
            </th>
            <th scope="col" class="number">
              Chunks
            </th>
          </tr>
        </thead>
        <tbody>
          {signals.map((signal) => {
            const of = (name: string) => sumOf(look.figures, name, { signal });
            return (
              <tr key={signal}>
                <td>{signal.replace("_", " ")}</td>
                <td class="number">{formatValue(rateOf(signal))}</td>
                <td class="number">{of("svc_store_rows").toLocaleString("en")}</td>
                <td class="number">{of("svc_store_unsealed_rows").toLocaleString("en")}</td>
                <td class="number">{nameBytes(of("svc_store_bytes"))}</td>
                <td class="number">{of("svc_store_chunks").toLocaleString("en")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableBox>
  );
}

/** Figures of the server's parts; those in the last column are bad where they are above zero. */
function Parts({ figures }: { figures: readonly Figure[] }) {
  const sum = (name: string) => sumOf(figures, name);
  const lines: [string, string, boolean][] = [
    ["Journal", nameBytes(sum("svc_store_journal_bytes")), false],
    [
      "Damaged places quarantined",
      formatValue(sum("svc_store_damaged_places")),
      sum("svc_store_damaged_places") > 0,
    ],
    [
      "Days held back from retention",
      formatValue(sum("svc_retention_held_days")),
      sum("svc_retention_held_days") > 0,
    ],
    ["Bodies that wait to be decoded", formatValue(sum("svc_ingest_waiting_bodies")), false],
    ["Rows refused since the start", formatValue(sum("svc_ingest_refused_rows_total")), false],
    ["Searches running", formatValue(sum("svc_queries_in_flight")), false],
    [
      "Alerts behind, in seconds",
      formatValue(sum("svc_alert_lag_seconds")),
      sum("svc_alert_lag_seconds") > 120,
    ],
    ["Alerts whose query fails", formatValue(sum("svc_alert_errors")), sum("svc_alert_errors") > 0],
    ["Notifications that wait", formatValue(sum("svc_notifications_held")), false],
    [
      ...["Oldest of them, in seconds", formatValue(sum("svc_notifications_oldest_seconds"))],
      sum("svc_notifications_oldest_seconds") > 600,
    ] as [string, string, boolean],
    ["Tails open", formatValue(sum("svc_tails_open")), false],
    ["Memory", nameBytes(sum("process_resident_memory_bytes")), false],
  ];
  return (
    <dl class="sight">
      {lines.map(([name, value, isBad]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={isBad ? "breach" : ""}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const units = ["B", "kB", "MB", "GB", "TB"];

function nameBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1_000 ** power).toPrecision(3))} ${units[power]}`;
}
