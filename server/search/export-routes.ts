/** GET and POST /api/v1/query/export: every row that a search finds, as JSON lines or CSV. */

import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import { Reply, type Route, type ServerRequest } from "../api/route.ts";
import { timeMs } from "../model/schema.ts";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { type ExportRequest, exportRows } from "./export-rows.ts";
import { exportColumnsMax, exportStallMsMax } from "./limits.ts";
import { describeRangeProblem, range, rangedBody } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const signal = z.enum(["logs", "traces"]);
const format = z.enum(["ndjson", "csv"]);
const order = z.enum(["newest", "oldest"]);

const body = rangedBody({
  signal: signal.nullish(),
  query: z.string().nullish(),
  ...range,
  format: format.nullish(),
  order: order.nullish(),
  columns: z.array(z.string().min(1)).max(exportColumnsMax).nullish(),
});

/** The same as parameters, so that a link can lead to a file. */
const query = {
  signal: signal.optional(),
  query: z.string().optional(),
  startTime: timeMs,
  endTime: timeMs,
  format: format.optional(),
  order: order.optional(),
  columns: z.string().optional(),
};

export function exportRoutes(searches: Searches): Route[] {
  const shared = {
    ...searches.shared,
    path: "/api/v1/query/export",
    summary: "Sends every row that a search finds, as JSON lines or CSV",
    response: z.string(),
    contentType: "application/x-ndjson",
  } as const;
  return [
    defineRoute({
      ...shared,
      method: "POST",
      body,
      handle: (input) => sendRows(searches, input.request, readRequest(input.body)),
    }),
    defineRoute({
      ...shared,
      method: "GET",
      query,
      handle: (input) => {
        const { columns, ...sent } = input.query;
        if (sent.startTime > sent.endTime) throw makeFieldRefusal("startTime", describeRangeProblem(sent));
        const named = columns?.split(",").filter((name) => name !== "");
        return sendRows(searches, input.request, readRequest({ ...sent, columns: named }));
      },
    }),
  ];
}

type Sent = ReturnType<typeof body.read>;

function readRequest(sent: Sent): ExportRequest {
  return {
    signal: sent.signal ?? "logs",
    query: sent.query ?? "",
    ...{ startMs: sent.startTime, endMs: sent.endTime },
    format: sent.format ?? "ndjson",
    order: sent.order ?? "newest",
    columns: sent.columns ?? undefined,
  };
}

/** The search counts as running until the last row is sent. Before each page, access is checked again. */
function sendRows(searches: Searches, request: ServerRequest, asked: ExportRequest): Promise<Reply> {
  return searches.run(request, async (_, limits) => {
    const storeOf = async () => searches.storeFor(await request.readmit());
    const { contentType, pieces } = await exportRows(asked, storeOf, limits);
    return new Reply({
      status: 200,
      headers: {
        "Content-Type": contentType,
        "Content-Disposition": `attachment; filename="${nameFile(asked)}"`,
      },
      body: pieces,
      stallMsMax: exportStallMsMax,
    });
  });
}

/** Such as `logs-2026-01-29T12-00-00Z.csv`, by the start of the range. */
function nameFile({ signal: of, startMs, format: as }: ExportRequest): string {
  const start = `${new Date(startMs).toISOString().slice(0, 19).replaceAll(":", "-")}Z`;
  return `${of}-${start}.${as}`;
}
