/** Takes bodies of telemetry through the decoding workers into the store; the HTTP thread only moves bytes about. */

import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Tinypool } from "tinypool";
import type { AppendResult, Signal, Store } from "../../engine/index.ts";
import type { Encoding } from "../api/content-encoding.ts";
import { Refusal, tryLater } from "../limits/refusal.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { AdmissionSettings, SenderLimits } from "./admission-settings.ts";
import type { BodyFormat, BodyTask, DecodedBody, DecodeResult, RefusedLine } from "./decode-task.ts";
import { IntakeMetrics } from "./intake-metrics.ts";
import {
  contentKeyAgeMs,
  decodeGroupBodies,
  decodeGroupBytes,
  decodeWaitingBytesMax,
  ingestUnpackedBytesMax,
  namedKeyAgeMs,
} from "./limits.ts";
import { Families } from "./prometheus/families.ts";
import { type Load, SenderRateLimiter } from "./sender-rate-limit.ts";
import { SharedRules, type StoredRules } from "./shared-rules.ts";

export interface IntakeOptions {
  store: Store;
  metrics: Metrics;
  /** Decoding threads; by default half of the cores, for the scans and the disk need the others. */
  threads?: number;
  /** Whether messages of logs that are JSON objects become attributes, where the sender does not say. */
  flattensJson?: boolean;
  entry: AdmissionSettings;
  rules: () => StoredRules;
  /** What the bearer of the token with this id may send. */
  limitsOf: (sender: string) => SenderLimits;
  now: () => number;
}

export interface IntakeBody {
  signal: Signal;
  format: BodyFormat;
  body: Uint8Array<ArrayBuffer>;
  encoding: Encoding;
  /** Id of the token that sent it. */
  sender: string;
  /** Stamped on its rows; null: nothing is. */
  environment: string | null;
  /** What the sender calls this body; one that comes again under the same name adds nothing. */
  key: string | null;
  /** Messages of logs that are JSON objects become attributes; undefined leaves it to the server's setting. */
  flattensJson?: boolean | undefined;
  /** Where rows go that name no index themselves (Elasticsearch). */
  index?: string;
}

export interface Taken {
  /** Rows that are now in the store, be it from this body or from the one that it repeats. */
  accepted: number;
  refused: number;
  /** Rows that ingestion rules left out; absent where they left out none. */
  dropped?: number;
  /** The first refused ones. */
  errors: RefusedLine[];
  /** The body was taken before; nothing was added. */
  duplicate: boolean;
  /** What the decoder would have answered to the sender, where the protocol tells of each row. */
  answer?: string;
}

type GoodBody = DecodedBody & { ok: true };

interface Job {
  task: BodyTask;
  resolve: (decoded: DecodedBody) => void;
  reject: (error: unknown) => void;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #pool: Tinypool;
  readonly #threads: number;
  readonly #counts: IntakeMetrics;
  readonly #rules: SharedRules;
  readonly #allowances: SenderRateLimiter;
  readonly #families = new Families();
  readonly #waiting: Job[] = [];
  #waitingBytes = 0;
  #working = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#threads = options.threads ?? Math.max(1, Math.floor(availableParallelism() / 2));
    this.#pool = new Tinypool({
      // The same file as this one's neighbour, in TypeScript or, once built, in JavaScript.
      filename: new URL(`./decode-worker${extname(import.meta.url)}`, import.meta.url).href,
      minThreads: this.#threads,
      maxThreads: this.#threads,
      idleTimeout: Number.POSITIVE_INFINITY,
    });
    this.#counts = new IntakeMetrics(options.metrics);
    this.#rules = new SharedRules(options.rules);
    const { limitsOf, now } = options;
    this.#allowances = new SenderRateLimiter({
      limitsOf,
      now,
      onRefused: (what) => this.#counts.limited(what),
    });
    options.metrics.read(
      "gauge",
      "svc_ingest_waiting_bodies",
      "Bodies that wait for a decoding thread.",
      () => {
        return this.#waiting.length;
      },
    );
  }

  /**
   * Resolves once the rows are on disk. Throws Refusal for a body that cannot be read, or while its sender has sent too much, Failure
   * for a store that cannot take it.
   */
  async take(body: IntakeBody): Promise<Taken> {
    this.#allowances.check(body.sender);
    const decoded = await this.#decode(body);
    this.#counts.decoded(decoded);
    if (!decoded.ok) throw new Refusal(decoded.status, decoded.message);
    const refused = decoded.refusedByKind.reduce((sum, [, rows]) => sum + rows, 0);
    const good = decoded.dropped.reduce((sum, [, rows]) => sum + rows, decoded.batch.rows);
    const appended = await this.#appendWithin({ rows: good, bytes: decoded.unpackedBytes }, decoded, body);
    this.#counts.appended(body.signal, decoded, appended);
    // What was taken before may have met other rules.
    const dropped = good - appended.rows;
    if (decoded.families !== undefined) this.#families.add(body.sender, decoded.families);
    const { answer } = decoded;
    return {
      accepted: appended.rows,
      refused,
      ...(dropped > 0 ? { dropped } : {}),
      errors: decoded.refused,
      duplicate: appended.duplicate,
      ...(answer === undefined ? {} : { answer }),
    };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #decode({
    signal,
    format,
    body,
    encoding,
    sender,
    environment,
    key,
    index = "",
    flattensJson,
  }: IntakeBody): Promise<DecodedBody> {
    if (this.#waitingBytes + body.length > decodeWaitingBytesMax) {
      throw tryLater("more telemetry comes in than the server can read; try again", 1);
    }
    this.#waitingBytes += body.length;
    const arrivalMs = this.#options.now();
    const { store } = this.#options;
    const task: BodyTask = {
      what: signal === "metrics" ? { signal, census: store.seriesCensus() } : { signal },
      format,
      body,
      encoding,
      sender,
      arrivalMs,
      unpackedBytesMax: ingestUnpackedBytesMax,
      wantsContentKey: key === null && format !== "syslog",
      flattensJson: flattensJson ?? this.#options.flattensJson ?? false,
      index,
      families: this.#families.shared,
      entry: { settings: this.#options.entry, environment, rules: this.#rules.shared },
    };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, resolve, reject });
      this.#fillWorkers();
    });
  }

  #fillWorkers(): void {
    while (this.#working < this.#threads && this.#waiting.length > 0) {
      const jobs = nextGroup(this.#waiting);
      for (const { task } of jobs) this.#waitingBytes -= task.body.length;
      void this.#work(jobs);
    }
  }

  async #work(jobs: Job[]): Promise<void> {
    this.#working++;
    try {
      const tasks = jobs.map((job) => job.task);
      const transferList = tasks.map((task) => task.body.buffer);
      const decoded = (await this.#pool.run(tasks, { transferList })) as DecodeResult;
      for (const [i, job] of jobs.entries()) job.resolve(decoded[i]!);
    } catch (error) {
      for (const job of jobs) job.reject(error);
    }
    this.#working--;
    this.#fillWorkers();
  }

  /** Nothing is stored of a body whose sender has sent too much while it was read. */
  async #appendWithin(load: Load, decoded: GoodBody, body: IntakeBody): Promise<AppendResult> {
    this.#allowances.spend(body.sender, load);
    try {
      return await this.#append(load.rows, decoded, body);
    } catch (error) {
      this.#allowances.giveBack(body.sender, load);
      throw error;
    }
  }

  async #append(good: number, decoded: GoodBody, body: IntakeBody): Promise<AppendResult> {
    if (good === 0) return { rows: 0, duplicate: false };
    const key = storeKey(decoded, body);
    const keyAgeMs = body.key === null ? contentKeyAgeMs : namedKeyAgeMs;
    return this.#options.store.appendEncoded(decoded.batch, key === null ? {} : { key, keyAgeMs });
  }
}

/** What the store knows the body by; logs alone had keys once, so theirs do not name the signal. */
function storeKey({ contentKey }: GoodBody, { signal, sender, key }: IntakeBody): string | null {
  if (key === null && contentKey === null) return null;
  const own = key === null ? contentKey : `named ${sender} ${key}`;
  return signal === "logs" ? own : `${signal} ${own}`;
}

/** As many of the waiting bodies as make one trip worth its cost; at least one. */
function nextGroup(waiting: Job[]): Job[] {
  const group: Job[] = [];
  let bytes = 0;
  while (waiting.length > 0 && group.length < decodeGroupBodies) {
    bytes += waiting[0]!.task.body.length;
    if (group.length > 0 && bytes > decodeGroupBytes) break;
    group.push(waiting.shift()!);
  }
  return group;
}
