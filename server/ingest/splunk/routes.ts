/**
 * Splunk's HTTP event collector
 * (https://docs.splunk.com/Documentation/Splunk/latest/Data/FormateventsforHTTPEventCollector).
 */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { type ErrorBody, jsonReply, type Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { eventProblems, originKeys } from "./decode.ts";

/** Splunk takes events of any type, and senders name many. */
const contentTypes = [
  "application/json",
  "text/plain",
  "application/x-ndjson",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  "",
];
const eventPaths = ["/services/collector", "/services/collector/event", "/services/collector/event/1.0"];
const rawPaths = ["/services/collector/raw", "/services/collector/raw/1.0"];
const healthPaths = ["/services/collector/health", "/services/collector/health/1.0"];
const ackPath = "/services/collector/ack";

/** Codes of Splunk's answers. */
const Code = {
  success: 0,
  tokenMissing: 2,
  noData: 5,
  invalidData: 6,
  busy: 9,
  eventMissing: 12,
  eventBlank: 13,
  ackDisabled: 14,
  healthy: 17,
} as const;

export function splunkRoutes(intake: Intake): Route[] {
  const route = (path: string, handle: (input: BatchInput) => Promise<Reply>) =>
    defineRoute({
      ...batchRoute,
      method: "POST",
      path,
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
      errorBody,
      handle,
    });
  return [
    ...eventPaths.map((path) => route(path, (input) => takeEvents(intake, "splunk events", input))),
    ...rawPaths.map((path) => route(path, (input) => takeEvents(intake, "splunk lines", input))),
    ...healthPaths.map(makeHealthRoute),
    route(ackPath, refuseAck),
  ];
}

/** Answers 400 for refused events even where others were stored; senders do not send such a body again. */
async function takeEvents(
  intake: Intake,
  format: "splunk events" | "splunk lines",
  input: BatchInput,
): Promise<Reply> {
  const { headers, query } = input.request;
  const taken = await intake.take({
    signal: "logs",
    format,
    encoding: encodingOf(headers),
    ...toIntakeBody(input),
    ...(format === "splunk lines" ? { parameters: readOrigin(query) } : {}),
  });
  const { accepted, refused, dropped = 0, errors } = taken;
  if (accepted + refused + dropped === 0)
    throw new CollectorRefusal(Code.noData, "No data: the body holds no event");
  const [first] = errors;
  if (first === undefined) return jsonReply({ text: "Success", code: Code.success });
  const others = accepted + dropped > 0 ? `; ${accepted + dropped} others were taken` : "";
  const problem = `event ${first.line}: ${first.reason}${others}`;
  throw new CollectorRefusal(codeOf(first.reason), problem, first.line - 1);
}

/** Attributes of all lines, by the parameters of the request. */
function readOrigin(query: URLSearchParams): Record<string, string> {
  const given = Object.entries(originKeys).map(([name, key]) => [key, query.get(name) ?? ""] as const);
  return Object.fromEntries(given.filter(([, text]) => text !== ""));
}

function codeOf(reason: string): number {
  if (reason.startsWith(eventProblems.missing)) return Code.eventMissing;
  return reason.startsWith(eventProblems.blank) ? Code.eventBlank : Code.invalidData;
}

function makeHealthRoute(path: string): Route {
  return defineRoute({
    method: "GET",
    path,
    permission: null,
    errorBody,
    handle: async () => jsonReply({ text: "HEC is healthy", code: Code.healthy }),
  });
}

/** An event is on disk when it is answered, so that there is nothing to acknowledge later. */
async function refuseAck(): Promise<Reply> {
  throw new CollectorRefusal(Code.ackDisabled, "ACK is disabled: events are stored when they are answered");
}

/** A refusal with a code of Splunk's. */
class CollectorRefusal extends Refusal {
  readonly code: number;
  /** The event that is at fault, from 0. */
  readonly eventNumber: number | undefined;

  constructor(code: number, message: string, eventNumber?: number) {
    super(400, message);
    this.code = code;
    this.eventNumber = eventNumber;
  }
}

const codeOfStatus: Readonly<Record<number, number>> = {
  401: Code.tokenMissing,
  429: Code.busy,
  503: Code.busy,
};

function errorBody(refusal: { status: number; message: string }): ErrorBody {
  const { status, message: text } = refusal;
  const isOwn = refusal instanceof CollectorRefusal;
  const code = isOwn ? refusal.code : (codeOfStatus[status] ?? Code.invalidData);
  const number =
    isOwn && refusal.eventNumber !== undefined ? { "invalid-event-number": refusal.eventNumber } : {};
  return { contentType: "application/json", body: JSON.stringify({ text, code, ...number }) };
}
