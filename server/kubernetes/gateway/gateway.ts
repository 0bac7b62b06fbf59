/**
 * Takes the OTLP bodies of a cluster, leaves out what rules exclude, and gets the rest to the hub: at once, or by way of
 * the disk while the hub is away.
 */

import { encodingOf } from "../../api/content-encoding.ts";
import { encodeMessage, jsonType, protobufType, statusBody } from "../../ingest/otlp/answer.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { ExclusionRule } from "../../model/exclusion.ts";
import { ByteBudget } from "../../throttle/byte-budget.ts";
import { Refusal, tryLater } from "../../throttle/refusal.ts";
import type { OutgoingBody } from "./buffer-entry.ts";
import { DiskBuffer } from "./disk-buffer.ts";
import { sendDivided } from "./divided-body.ts";
import { Forwarder } from "./forwarder.ts";
import { GatewayMetrics } from "./gateway-metrics.ts";
import { type HubOutcome, HubSender, type HubSenderOptions } from "./hub-sender.ts";
import { bufferBytesDefault, bytesInFlightMax, directMsMax, waitingShare } from "./limits.ts";
import { prepareBody } from "./outgoing.ts";
import type { PodLookup } from "./resource-enrichment.ts";
import { prepareRows, type RowBatch } from "./row-batch.ts";
import { RuleGate } from "./rule-gate.ts";
import type { RejectedRule } from "./rule-set.ts";
import type { GatewaySignal } from "./wire/tested-fields.ts";

export interface GatewayOptions {
  /** Folder of the disk buffer. */
  dir: string;
  bufferBytesMax?: number;
  hub: HubSenderOptions;
  /** Name of the cluster; rules that name another one are not applied. */
  cluster: string;
  pods: PodLookup;
  metrics: Metrics;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Time for which bodies are held until the first rules arrive. */
  holdMs?: number;
  /** Time that the hub has to answer while the sender waits. */
  directMs?: number;
  retryMs?: { first: number; max: number };
}

export interface GatewayAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
}

/** Where a body came from. */
export interface BodySource {
  /** Address of the connection. */
  peer?: string | undefined;
  /** The sender's own idempotency key. */
  key?: string | undefined;
}

const responseOf: Readonly<Record<GatewaySignal, string>> = {
  logs: "LogsResponse",
  traces: "TraceResponse",
  metrics: "MetricsResponse",
};

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #buffer: DiskBuffer;
  readonly #hub: HubSender;
  readonly #gate: RuleGate;
  readonly #forwarder: Forwarder;
  readonly #metrics: GatewayMetrics;
  readonly #budget = new ByteBudget(bytesInFlightMax);
  /** Parts of the body from the buffer that is on its way: those that the hub took are not sent again. */
  #parts = { key: "", taken: new Set<string>() };
  /** Whether the last try to reach the hub failed: the log has one line for an outage. */
  #isAway = false;

  private constructor(options: GatewayOptions, buffer: DiskBuffer, metrics: GatewayMetrics, gate: RuleGate) {
    this.#options = options;
    this.#buffer = buffer;
    this.#metrics = metrics;
    this.#gate = gate;
    this.#hub = new HubSender(options.hub);
    this.#forwarder = new Forwarder({
      buffer,
      send: (body, timeoutMs) => this.#sendBuffered(body, timeoutMs),
      onOutcome: (outcome, body) => this.#note(outcome, body, true),
      random: Math.random,
      ...(options.retryMs === undefined ? {} : { retryMs: options.retryMs }),
    });
  }

  /** Opens the disk buffer with what an earlier process left in it. Throws where its folder cannot be used. */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const { dir, log, cluster } = options;
    let gateway: Gateway | undefined;
    let lost = 0;
    const buffer = await DiskBuffer.open({
      dir,
      bytesMax: options.bufferBytesMax ?? bufferBytesDefault,
      onDropped: (bodies, reason) => {
        if (gateway === undefined) lost += bodies;
        else gateway.#metrics.dropped.add(bodies, { reason });
      },
      onProblem: (problem) => log("warn", `gateway: ${problem}`),
    });
    const gate = new RuleGate(cluster, () => gateway!.#openWithoutRules(), options.holdMs);
    const metrics = new GatewayMetrics(options.metrics, {
      bufferBytes: () => buffer.bytes,
      bufferBodies: () => buffer.bodies,
      heldBytes: () => gate.heldBytes,
      hasRules: () => gate.hasRules,
    });
    gateway = new Gateway(options, buffer, metrics, gate);
    if (lost > 0) metrics.dropped.add(lost, { reason: "damage" });
    if (buffer.bodies > 0) log("info", `gateway: ${buffer.bodies} bodies on disk wait for the hub`);
    return gateway;
  }

  run(): void {
    this.#gate.run();
    this.#forwarder.run();
  }

  /** Bodies that are on disk stay there. Call it when no body is being accepted any more. */
  async close(): Promise<void> {
    this.#gate.close();
    this.#hub.close();
    await this.#forwarder.close();
    await this.#buffer.close();
  }

  /** Replaces all rules at once. Returns those that are malformed and not put in force. */
  setRules(rules: readonly ExclusionRule[]): RejectedRule[] {
    const rejected = this.#gate.setRules(rules);
    for (const { id, problem } of rejected) {
      this.#metrics.rejectedRules.add(1, { rule: id });
      this.#options.log("warn", `ingestion rule ${JSON.stringify(id)} is not in force: ${problem}`);
    }
    return rejected;
  }

  /** Never throws. Once the answer is a success, the body is at the hub or on disk. */
  async accept(
    signal: GatewaySignal,
    contentType: string,
    contentEncoding: string,
    body: Uint8Array,
    source: BodySource = {},
  ): Promise<GatewayAnswer> {
    const answer = await this.#accept(signal, contentType, contentEncoding, body, source).catch(
      (error: unknown) => this.refuse(error, contentType),
    );
    this.#metrics.bodies.add(1, { signal, status: String(answer.status) });
    return answer;
  }

  /**
   * Takes rows of the exporter itself. Resolves when they are at the hub or on disk, or were left out or refused for
   * good; throws Refusal where they should be sent again. Rows that are kept elsewhere wait there while the buffer
   * is nearly full, instead of pushing out what is in it.
   */
  async acceptRows(batch: RowBatch, areKept: boolean): Promise<void> {
    const bytesMax = this.#options.bufferBytesMax ?? bufferBytesDefault;
    if (areKept && this.#buffer.bytes > bytesMax * waitingShare)
      throw tryLater("the disk buffer is nearly full", 5);
    const rules = await this.#gate.rules(0);
    const { outgoing, dropped } = await prepareRows(batch, rules);
    if (outgoing !== undefined) {
      const answer = await this.#pass(outgoing);
      if (answer !== undefined && answer.status >= 300)
        this.#options.log(
          "warn",
          `the hub refused rows for ${outgoing.path}: ${answer.body.toString().slice(0, 300)}`,
        );
    }
    this.#countExcluded(dropped);
  }

  /** The answer for an error: a `google.rpc.Status` in the encoding of the request. */
  refuse(error: unknown, contentType: string): GatewayAnswer {
    const isRefusal = error instanceof Refusal;
    if (!isRefusal) this.#options.log("error", `gateway: ${(error as Error)?.stack ?? String(error)}`);
    const status = isRefusal ? error.status : 500;
    const message = isRefusal ? error.message : "the exporter failed; its log says why";
    const made = statusBody({ status, message }, new Map([["content-type", contentType]]));
    const headers = { ...(isRefusal ? error.headers : {}), "Content-Type": made.contentType };
    return { status, headers, body: made.body };
  }

  async #accept(
    signal: GatewaySignal,
    contentType: string,
    contentEncoding: string,
    body: Uint8Array,
    { peer, key }: BodySource,
  ): Promise<GatewayAnswer> {
    const isJson = isJsonType(contentType);
    const encoding = encodingOf(
      new Map([["content-encoding", contentEncoding === "" ? "identity" : contentEncoding]]),
    );
    if (!this.#budget.take(body.length)) throw tryLater("the exporter has too many bodies to work on", 1);
    try {
      const rules = await this.#gate.rules(body.length);
      const received = { signal, isJson, encoding, body, peer, key };
      const { outgoing, dropped } = await prepareBody(received, rules, this.#options.pods);
      const answer = (outgoing && (await this.#pass(outgoing))) ?? makeSuccess(signal, isJson);
      if (answer.status < 300) this.#countExcluded(dropped);
      return answer;
    } finally {
      this.#budget.give(body.length);
    }
  }

  #sendBuffered(body: OutgoingBody, timeoutMs: number): Promise<HubOutcome> {
    if (this.#parts.key !== body.key) this.#parts = { key: body.key, taken: new Set() };
    return sendDivided(body, (part) => this.#hub.send(part, timeoutMs), this.#parts.taken);
  }

  #countExcluded(dropped: ReadonlyMap<string, number>): void {
    for (const [rule, records] of dropped) this.#metrics.excluded.add(records, { rule });
  }

  /** The hub's answer; undefined where the body is on disk. What waits there goes first, and others behind it. */
  async #pass(body: OutgoingBody): Promise<GatewayAnswer | undefined> {
    if (this.#buffer.isEmpty) {
      const endMs = performance.now() + (this.#options.directMs ?? directMsMax);
      const outcome = await sendDivided(body, (part) =>
        this.#hub.send(part, Math.max(1, Math.ceil(endMs - performance.now()))),
      );
      this.#note(outcome, body, false);
      if (outcome.kind !== "retry") {
        const { contentType } = outcome;
        const status = outcome.kind === "taken" ? 200 : outcome.status;
        return { status, headers: { "Content-Type": contentType }, body: outcome.body };
      }
    }
    try {
      await this.#buffer.append(body);
    } catch (error) {
      this.#options.log(
        "error",
        `gateway: the disk buffer does not take a body: ${(error as Error).message}`,
      );
      throw tryLater("the hub is away, and the exporter's disk does not take the body", 5);
    }
    this.#metrics.buffered.add(1);
    return undefined;
  }

  #note(outcome: HubOutcome, { path }: OutgoingBody, isBuffered: boolean): void {
    const { log } = this.#options;
    if (outcome.kind === "retry") {
      this.#metrics.retries.add(1);
      if (!this.#isAway) log("warn", `gateway: bodies wait on disk: ${outcome.problem}`);
      this.#isAway = true;
      return;
    }
    if (this.#isAway) log("info", "gateway: the hub answers again");
    this.#isAway = false;
    if (outcome.kind === "taken") this.#metrics.forwarded.add(1);
    else {
      this.#metrics.refused.add(1, { status: String(outcome.status), buffered: String(isBuffered) });
      if (isBuffered)
        log(
          "warn",
          `gateway: the hub refused a body for ${path} with ${outcome.status}, or records of it: they are dropped`,
        );
    }
  }

  #openWithoutRules(): void {
    this.#metrics.unfiltered.add(1);
    this.#options.log("warn", "gateway: no ingestion rules came in time: telemetry passes without them");
  }
}

/** Throws Refusal 415. */
function isJsonType(contentType: string): boolean {
  const type = contentType.split(";", 1)[0]!.trim().toLowerCase();
  if (type === protobufType || type === "application/protobuf") return false;
  if (type === jsonType) return true;
  throw new Refusal(415, `the Content-Type must be ${protobufType} or ${jsonType}`);
}

function makeSuccess(signal: GatewaySignal, isJson: boolean): GatewayAnswer {
  return {
    status: 200,
    headers: { "Content-Type": isJson ? jsonType : protobufType },
    body: encodeMessage(responseOf[signal], {}, isJson),
  };
}
