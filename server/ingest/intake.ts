/** Takes bodies of telemetry through the decoding workers into the store; the HTTP thread only moves bytes about. */

import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Tinypool } from "tinypool";
import { type AppendResult, type Signal, type Store, signals } from "../../engine/index.ts";
import {
  contentKeyAgeMs,
  decodeGroupBodies,
  decodeGroupBytes,
  decodeWaitingBytesMax,
  ingestUnpackedBytesMax,
  namedKeyAgeMs,
} from "../limits.ts";
import type { Counter, Metrics } from "../metrics.ts";
import { Refusal, tryLater } from "../route.ts";
import type { Encoding } from "../unpack.ts";
import type { BodyTask, DecodedBody, DecodeResult, RefusedLine } from "./protocol.ts";

export interface IntakeOptions {
  store: Store;
  metrics: Metrics;
  /** Decoding threads; by default half of the cores, for the scans and the disk need the others. */
  threads?: number;
  now: () => number;
}

export interface IntakeBody {
  signal: Signal;
  body: Uint8Array<ArrayBuffer>;
  encoding: Encoding;
  /** Id of the token that sent it. */
  sender: string;
  /** What the sender calls this body; one that comes again under the same name adds nothing. */
  key: string | null;
}

export interface Taken {
  /** Rows that are now in the store, be it from this body or from the one that it repeats. */
  accepted: number;
  refused: number;
  /** The first refused ones. */
  errors: RefusedLine[];
  /** The body was taken before; nothing was added. */
  duplicate: boolean;
}

interface Job {
  task: BodyTask;
  resolve: (decoded: DecodedBody) => void;
  reject: (error: unknown) => void;
}

interface Counters {
  rows: Counter;
  refused: Counter;
  bytes: Counter;
  batches: Counter;
  duplicates: Counter;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #pool: Tinypool;
  readonly #threads: number;
  readonly #counters: Counters;
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
    this.#counters = countersIn(options.metrics);
    options.metrics.read(
      "gauge",
      "svc_ingest_waiting_bodies",
      "Bodies that wait for a decoding thread.",
      () => {
        return this.#waiting.length;
      },
    );
  }

  /** Resolves once the rows are on disk. Throws Refusal for a body that cannot be read, Failure for a store that cannot take it. */
  async take(body: IntakeBody): Promise<Taken> {
    const decoded = await this.#decode(body);
    this.#count(decoded);
    if (!decoded.ok) throw new Refusal(decoded.status, decoded.message);
    const refused = decoded.refusedByKind.reduce((sum, [, rows]) => sum + rows, 0);
    const appended = await this.#append(decoded, body);
    return { accepted: appended.rows, refused, errors: decoded.refused, duplicate: appended.duplicate };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #decode({ signal, body, encoding, sender, key }: IntakeBody): Promise<DecodedBody> {
    if (this.#waitingBytes + body.length > decodeWaitingBytesMax) {
      throw tryLater("more telemetry comes in than the server can read; try again", 1);
    }
    this.#waitingBytes += body.length;
    const arrivalMs = this.#options.now();
    const { store } = this.#options;
    const task: BodyTask = {
      what: signal === "metrics" ? { signal, census: store.seriesCensus() } : { signal },
      body,
      encoding,
      sender,
      arrivalMs,
      unpackedBytesMax: ingestUnpackedBytesMax,
      wantsContentKey: key === null,
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

  async #append(decoded: DecodedBody & { ok: true }, body: IntakeBody): Promise<AppendResult> {
    if (decoded.batch.rows === 0) return { rows: 0, duplicate: false };
    const key = storeKey(decoded, body);
    const keyAgeMs = body.key === null ? contentKeyAgeMs : namedKeyAgeMs;
    const appended = await this.#options.store.appendEncoded(
      decoded.batch,
      key === null ? {} : { key, keyAgeMs },
    );
    if (appended.duplicate) this.#counters.duplicates.add();
    else this.#counters.rows.add(appended.rows, { signal: body.signal });
    return appended;
  }

  #count(decoded: DecodedBody): void {
    this.#counters.batches.add();
    if (!decoded.ok) return;
    this.#counters.bytes.add(decoded.unpackedBytes);
    for (const [reason, rows] of decoded.refusedByKind) this.#counters.refused.add(rows, { reason });
  }
}

/** What the store knows the body by; logs alone had keys once, so theirs do not name the signal. */
function storeKey(
  { contentKey }: DecodedBody & { ok: true },
  { signal, sender, key }: IntakeBody,
): string | null {
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

function countersIn(metrics: Metrics): Counters {
  const counters = {
    rows: metrics.counter("svc_ingest_rows_total", "Rows acknowledged, by signal."),
    refused: metrics.counter("svc_ingest_refused_rows_total", "Rows refused, by reason."),
    bytes: metrics.counter("svc_ingest_bytes_total", "Bytes of bodies, unpacked."),
    batches: metrics.counter("svc_ingest_batches_total", "Bodies decoded."),
    duplicates: metrics.counter("svc_ingest_duplicate_batches_total", "Bodies that had been taken before."),
  };
  for (const counter of [counters.bytes, counters.batches, counters.duplicates]) counter.add(0);
  for (const signal of signals) counters.rows.add(0, { signal });
  return counters;
}
