/**
 * Takes bodies of telemetry, has them decoded on worker threads, and appends the batches to the store. The HTTP thread
 * only passes bytes on.
 */

import type { AppendResult, MemoryBudget, Signal, Store } from "../../engine/index.ts";
import type { Encoding } from "../api/content-encoding.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { Refusal, tryLater } from "../throttle/refusal.ts";
import type { AdmissionSettings, SenderLimits } from "./admission-settings.ts";
import { DecodePool } from "./decode-pool.ts";
import type { BodyFormat, BodyPiece, BodyTask, DecodedBody, RefusedLine } from "./decode-task.ts";
import { DocumentIds } from "./documents/document-ids.ts";
import { IntakeMetrics } from "./intake-metrics.ts";
import {
  contentKeyAgeMs,
  decodeMsMax,
  documentReadsMax,
  ingestUnpackedBytesMax,
  namedKeyAgeMs,
} from "./limits.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";
import { Families } from "./prometheus/families.ts";
import { type Load, SenderRateLimiter } from "./sender-rate-limit.ts";
import { SharedRules, type StoredRules } from "./shared-ingestion-rules.ts";

/** The part of a store that bodies go to. */
export type IntakeStore = Pick<Store, "appendEncoded" | "seriesCensus" | "arrived" | "arrivalMax">;

export interface IntakeOptions {
  store: IntakeStore;
  metrics: Metrics;
  /** Decides on decoding threads, on the size of bodies, and on the bytes that wait. */
  memory: MemoryBudget;
  /** CPU time in which a thread decodes a group of bodies; by default `decodeMsMax` of limits.ts. */
  decodeMsMax?: number;
  /** Whether log messages that are JSON objects become attributes, where the sender does not choose. */
  flattensJson?: boolean;
  admission: AdmissionSettings;
  rules: () => StoredRules;
  /** The limits of the token with this id. */
  limitsOf: (sender: string) => SenderLimits;
  now: () => number;
}

export interface IntakeBody {
  signal: Signal;
  format: BodyFormat;
  body: Uint8Array;
  /** The body in pieces, each with its key: their rows become chunks at once. `body` is empty and `key` null then. */
  pieces?: readonly BodyPiece[];
  /** Called once the pieces are not needed any more. */
  onRead?: () => void;
  encoding: Encoding;
  /** Id of the token that sent the body. */
  sender: string;
  /** Stamped on its rows; null stamps nothing. */
  environment: string | null;
  /** The sender's idempotency key: a second body with the same key adds nothing. */
  key: string | null;
  /** Whether log messages that are JSON objects become attributes; undefined takes the server's setting. */
  flattensJson?: boolean | undefined;
  /** The index of rows that name none themselves (Elasticsearch). */
  index?: string;
  /** What else the sender said of the whole body, outside of it: parameters by names that the format gives them. */
  parameters?: Readonly<Record<string, string>> | undefined;
  /** The fields of log rows that the sender named (JSON lines). */
  fieldNames?: LogFieldNames | undefined;
}

export interface IntakeResult {
  /** Rows that are in the store now, from this body or from the one that it repeats. */
  accepted: number;
  refused: number;
  /** Rows that ingestion rules left out; absent where it is none. */
  dropped?: number;
  /** The first refused lines. */
  errors: RefusedLine[];
  /** The body had been taken before; nothing was added. */
  duplicate: boolean;
  /** Events and links of spans that did not fit into their row; absent where it is none. */
  cutElements?: number;
  /** The answer that the decoder wrote, where the protocol reports on each row. */
  answer?: string;
}

/** What became of a body that may have been sent in pieces. */
export interface PiecesResult extends IntakeResult {
  /** Rows of `accepted` that its pieces had added before; absent where it is none. */
  duplicates?: number;
}

type GoodBody = DecodedBody & { ok: true };
type Documents = NonNullable<GoodBody["documents"]>;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #pool: DecodePool;
  readonly #metrics: IntakeMetrics;
  readonly #rules: SharedRules;
  readonly #rateLimiter: SenderRateLimiter;
  readonly #families = new Families(() => performance.now());
  readonly #documentIds: DocumentIds;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#metrics = new IntakeMetrics(options.metrics);
    this.#pool = new DecodePool({
      memory: options.memory,
      decodeMsMax: options.decodeMsMax ?? decodeMsMax,
      onEnded: (cause) => this.#metrics.countEndedThread(cause),
    });
    this.#rules = new SharedRules(options.rules);
    const { limitsOf } = options;
    this.#rateLimiter = new SenderRateLimiter({
      limitsOf,
      elapsed: () => performance.now(),
      onRefused: (kind) => this.#metrics.countLimited(kind),
    });
    this.#documentIds = new DocumentIds(options.store, () => performance.now());
    const waiting = () => this.#pool.waiting;
    options.metrics.gauge("svc_ingest_waiting_bodies", "Bodies that wait for a decoding thread.", waiting);
  }

  /**
   * Decodes a body and appends its rows. Resolves once they are on disk. Throws Refusal for a body that cannot be read
   * or a sender over its limits, Failure where the store cannot take the rows.
   */
  async take(body: IntakeBody): Promise<IntakeResult> {
    this.#rateLimiter.check(body.sender);
    const decoded = await this.#decode(body);
    const documents = decoded.ok ? decoded.documents : undefined;
    if (documents === undefined) return this.#store(body, decoded);
    return this.#storeNewDocuments(body, decoded, documents);
  }

  /** Stores the documents whose ids are new. The body is read again without the others, whose items report a conflict. */
  async #storeNewDocuments(body: IntakeBody, first: DecodedBody, known: Documents): Promise<IntakeResult> {
    let decoded = first;
    let documents = known;
    let storedDocuments: readonly number[] = [];
    await this.#documentIds.load();
    for (let reads = 0; reads < documentReadsMax; reads++) {
      const { stored, pending } = this.#documentIds.find(documents);
      if (stored.length === 0 && pending === undefined) {
        return this.#documentIds.hold(documents, () => this.#store(body, decoded));
      }
      await pending;
      if (stored.length === 0) continue;
      storedDocuments = [...storedDocuments, ...stored];
      decoded = await this.#decode({ ...body, body: documents.body }, storedDocuments);
      if (!decoded.ok || decoded.documents === undefined) return this.#store(body, decoded);
      documents = decoded.documents;
    }
    throw tryLater("others store documents with the same ids; try again", 1);
  }

  /** Appends what was read. Throws Refusal and Failure as `take` does. */
  async #store(body: IntakeBody, decoded: DecodedBody): Promise<IntakeResult> {
    this.#metrics.countDecoded(decoded);
    if (!decoded.ok) throw new Refusal(decoded.status, decoded.message);
    const refused = decoded.refusedByKind.reduce((sum, [, rows]) => sum + rows, 0);
    const goodRows = decoded.dropped.reduce((sum, [, rows]) => sum + rows, decoded.batch.rows);
    const load = { rows: goodRows, bytes: decoded.unpackedBytes };
    const appended = await this.#appendWithinLimits(load, decoded, body);
    this.#metrics.countAppended(body.signal, decoded, appended);
    // A repeated body may have been taken under other rules.
    const dropped = goodRows - appended.rows;
    if (decoded.families !== undefined) this.#families.add(body.sender, decoded.families);
    const { answer, cutElements } = decoded;
    return {
      accepted: appended.rows,
      refused,
      ...(dropped > 0 ? { dropped } : {}),
      errors: decoded.refused,
      duplicate: appended.duplicate,
      ...(cutElements > 0 ? { cutElements } : {}),
      ...(answer === undefined ? {} : { answer }),
    };
  }

  /** Resolves once a thread can decode the first body. */
  get begun(): Promise<void> {
    return this.#pool.begun;
  }

  /** Prepares for bodies in pieces: some will come. */
  expectPieces(): void {
    this.#pool.expectPieces();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #decode(
    { signal, environment, key, index = "", flattensJson, onRead, ...sent }: IntakeBody,
    storedDocuments: readonly number[] = [],
  ): Promise<DecodedBody> {
    const { store, memory, now } = this.#options;
    const task: BodyTask = {
      content: signal === "metrics" ? { signal, activeSeries: store.seriesCensus() } : { signal },
      ...sent,
      arrivalMs: now(),
      unpackedBytesMax: Math.min(ingestUnpackedBytesMax, memory.unpackedBytesMax),
      wantsContentKey: key === null && sent.pieces === undefined,
      flattensJson: flattensJson ?? this.#options.flattensJson ?? false,
      index,
      storedDocuments,
      families: this.#families.shared,
      packedCaps: sent.pieces === undefined ? undefined : memory.chunkCaps,
      admission: { settings: this.#options.admission, environment, rules: this.#rules.shared },
    };
    return this.#pool.decode(task, onRead);
  }

  /**
   * Charges the load to the sender's limits before appending. Another body may have used them up while this one was
   * decoded: then nothing of it is stored.
   */
  async #appendWithinLimits(load: Load, decoded: GoodBody, body: IntakeBody): Promise<AppendResult> {
    this.#rateLimiter.spend(body.sender, load);
    try {
      return await this.#append(load.rows, decoded, body);
    } catch (error) {
      this.#rateLimiter.giveBack(body.sender, load);
      throw error;
    }
  }

  async #append(goodRows: number, decoded: GoodBody, body: IntakeBody): Promise<AppendResult> {
    if (goodRows === 0) return { rows: 0, duplicate: false };
    const key = toStoreKey(decoded, body);
    const isNamed = body.key !== null || body.pieces !== undefined;
    const keyAgeMs = isNamed ? namedKeyAgeMs : contentKeyAgeMs;
    return this.#options.store.appendEncoded(decoded.batch, key === null ? { keyAgeMs } : { key, keyAgeMs });
  }
}

/** The body's idempotency key in the store. Only logs had keys at first, so theirs do not contain the signal. */
function toStoreKey({ contentKey }: GoodBody, { signal, sender, key }: IntakeBody): string | null {
  if (key === null && contentKey === null) return null;
  return key === null ? withSignal(signal, contentKey!) : namedStoreKey({ signal, sender, key });
}

/** The key in the store of a body or piece with a key of its sender. */
export function namedStoreKey({
  signal,
  sender,
  key,
}: {
  signal: Signal;
  sender: string;
  key: string;
}): string {
  return withSignal(signal, `named ${sender} ${key}`);
}

function withSignal(signal: Signal, key: string): string {
  return signal === "logs" ? key : `${signal} ${key}`;
}
