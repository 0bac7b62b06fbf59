/** Asks for rows of any signal that consists of rows, but spans. */

import type { LogPage } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import type { SearchedSignal, SearchRun } from "./search-state.ts";

interface BodyPage extends Omit<LogPage, "logs"> {
  rows: { timestamp: number; body: string; attributes: Record<string, string> }[];
}

interface WantedPage {
  run: Pick<SearchRun, "query" | "signal" | "startTime" | "endTime">;
  limit: number;
  cursor?: string | undefined;
}

/** Where rows of a signal are searched. */
export const rowPaths: Readonly<Record<SearchedSignal, string>> = {
  logs: "/api/v1/query/logs",
  profiles: "/api/v1/query/profiles",
  kubernetes_resources: "/api/v1/query/kubernetes_resources",
};

/** One page of rows. Those that are no logs come as logs without a level, whose message is their body. */
export async function askRows(
  { run: { signal, ...run }, limit, cursor }: WantedPage,
  aborting: AbortSignal,
): Promise<LogPage> {
  const body = { ...run, limit, ...(cursor === undefined ? {} : { cursor }) };
  if (signal === "logs")
    return ask<LogPage>(rowPaths.logs, { body: { ...body, ids: true }, signal: aborting });
  const { rows, ...page } = await ask<BodyPage>(rowPaths[signal], { body, signal: aborting });
  const logs = rows.map(({ timestamp, body: message, attributes }) => {
    return { timestamp, log_level: "", message, attributes };
  });
  return { ...page, logs };
}
