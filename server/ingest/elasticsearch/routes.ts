/**
 * POST /_bulk, single documents, and the requests that agents make to Elasticsearch before they send: version, licence, and whether the
 * templates and policies exist that they would otherwise create. Rows need none of them, so each is said to exist.
 */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { jsonBodyBytesMax } from "../../api/limits.ts";
import { type ErrorBody, jsonReply, Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { bulkParameters } from "./decode.ts";
import { filterPaths } from "./filter-path.ts";

/** The version whose bulk API is implemented. Official clients check the product header as well. */
const version = "8.17.0";
const productHeader = { "X-Elastic-Product": "Elasticsearch" };

const contentTypes = [
  "application/x-ndjson",
  "application/json",
  "application/vnd.elasticsearch+x-ndjson",
  "application/vnd.elasticsearch+json",
  "text/plain",
  "",
];

const serverInfo = {
  name: "svc",
  cluster_name: "svc",
  cluster_uuid: "c3ZjLXN2Yy1zdmMtc3ZjLQ",
  version: {
    number: version,
    build_flavor: "default",
    build_type: "tar",
    build_hash: "0",
    build_date: "2025-01-01T00:00:00.000Z",
    build_snapshot: false,
    lucene_version: "9.12.0",
    minimum_wire_compatibility_version: "7.17.0",
    minimum_index_compatibility_version: "7.0.0",
  },
  tagline: "You Know, for Search",
};
const license = { status: "active", uid: "svc", type: "basic", mode: "basic", issue_date_in_millis: 0 };
const health = { cluster_name: "svc", status: "green", timed_out: false, number_of_nodes: 1 };

/** The constant answer of each path. */
const staticAnswers: Readonly<Record<string, object>> = {
  "/_license": { license },
  "/_xpack": { license, features: { ilm: { available: true, enabled: true } } },
  "/_cluster/health": health,
  "/_nodes/http": { cluster_name: "svc", nodes: {} },
};

/** Objects that agents create where they do not exist. Every GET says that the object exists; every PUT succeeds. */
const setupPaths = [
  "/_ilm/policy/{name}",
  "/_index_template/{name}",
  "/_component_template/{name}",
  "/_template/{name}",
  "/_data_stream/{name}",
  "/_ingest/pipeline/{name}",
  "/_alias/{name}",
];

export function elasticsearchRoutes(intake: Intake): Route[] {
  const answerRoutes = Object.entries(staticAnswers).map(([path, answer]) =>
    makeAnswerRoute(path, answer, "ingest"),
  );
  return [
    makeAnswerRoute("/", serverInfo, null),
    ...answerRoutes,
    ...setupPaths.flatMap((path) => [makeAnswerRoute(path, {}, "ingest"), makeSetupRoute(path)]),
    ...(["POST", "PUT"] as const).flatMap((method) => [
      ...["/_bulk", "/{index}/_bulk"].map((path) => bulkRoute(intake, method, path)),
      documentRoute(intake, method, "/{index}/_doc/{id}"),
      documentRoute(intake, method, "/{index}/_create/{id}"),
    ]),
    documentRoute(intake, "POST", "/{index}/_doc"),
  ];
}

function makeAnswerRoute(path: string, answer: object, permission: "ingest" | null): Route {
  return defineRoute({
    method: "GET",
    path,
    permission,
    errorBody,
    handle: async () => jsonReply(answer, 200, productHeader),
  });
}

function makeSetupRoute(path: string): Route {
  return defineRoute({
    method: "PUT",
    path,
    permission: "ingest",
    body: raw({ bytesMax: jsonBodyBytesMax, contentTypes }),
    errorBody,
    handle: async () => jsonReply({ acknowledged: true }, 200, productHeader),
  });
}

function bulkRoute(intake: Intake, method: "POST" | "PUT", path: string): Route {
  return defineRoute({
    ...batchRoute,
    method,
    path,
    body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
    errorBody,
    handle: (input) => bulk(intake, input.params.index ?? "", input),
  });
}

async function bulk(intake: Intake, index: string, input: BatchInput): Promise<Reply> {
  const filterPath = input.request.query.get("filter_path");
  const { answer = "" } = await intake.take({
    signal: "logs",
    format: "elasticsearch bulk",
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
    index,
    ...(filterPath === null ? {} : { parameters: { [bulkParameters.filterPath]: filterPath } }),
  });
  const headers = { "Content-Type": "application/json", ...productHeader };
  return new Reply({ status: 200, headers, body: answer });
}

/** A route of one document: `op_type=create`, and the path `_create`, make it the action `create`. */
function documentRoute(intake: Intake, method: "POST" | "PUT", path: string): Route {
  return defineRoute({
    ...batchRoute,
    method,
    path,
    body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
    errorBody,
    handle: async (input) => {
      const { index = "", id = "" } = input.params;
      const isCreate = path.includes("/_create/") || input.request.query.get("op_type") === "create";
      const { answer = "{}" } = await intake.take({
        signal: "logs",
        format: "elasticsearch document",
        encoding: encodingOf(input.request.headers),
        ...toIntakeBody(input),
        index,
        parameters: { [bulkParameters.action]: isCreate ? "create" : "index", [bulkParameters.id]: id },
      });
      return documentReply(answer, input.request.query.get("filter_path"));
    },
  });
}

/** What the answer of an action says, in the form of the answer to one document. */
function documentReply(answer: string, filterPath: string | null): Reply {
  const [item] = Object.values(JSON.parse(answer) as Record<string, DocumentItem>);
  const { status, error, ...written } = item!;
  if (error !== undefined) throw new DocumentRefusal(status, error);
  return jsonReply(filterPath === null ? written : filterPaths(written, filterPath), status, productHeader);
}

interface DocumentItem {
  status: number;
  error?: { type: string; reason: string };
}

/** Why a single document is not stored. */
class DocumentRefusal extends Refusal {
  /** Elasticsearch's name of the error. */
  readonly type: string;

  constructor(status: number, { type, reason }: { type: string; reason: string }) {
    super(status, reason);
    this.type = type;
  }
}

const typeOfStatus: Readonly<Record<number, string>> = {
  400: "parse_exception",
  401: "security_exception",
  403: "security_exception",
  429: "es_rejected_execution_exception",
  503: "unavailable_shards_exception",
};

function errorBody(refusal: { status: number; message: string }): ErrorBody {
  const { status, message } = refusal;
  const named = refusal instanceof DocumentRefusal ? refusal.type : typeOfStatus[status];
  const cause = { type: named ?? "exception", reason: message };
  const error = { root_cause: [cause], ...cause };
  return { contentType: "application/json", body: JSON.stringify({ error, status }) };
}
