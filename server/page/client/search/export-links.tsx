/** Links to files of everything that a search found. */

import { run } from "../found/search-state.ts";

const formats = [
  ["ndjson", "JSON lines"],
  ["csv", "CSV"],
] as const;

/** The server sends every row of the run, not only those that are shown. */
export function ExportLinks() {
  if (run.value === undefined) return null;
  const { query, startTime, endTime } = run.value;
  const asked = { query, startTime: String(startTime), endTime: String(endTime) };
  return (
    <span class="export">
      Export{" "}
      {formats.map(([format, name]) => (
        <a
          key={format}
          class="button quiet"
          download=""
          href={`/api/v1/query/export?${new URLSearchParams({ ...asked, format })}`}
          title="Downloads every row that was found"
        >
          {name}
        </a>
      ))}
    </span>
  );
}
