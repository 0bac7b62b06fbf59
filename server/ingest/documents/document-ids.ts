/**
 * The ids of documents that are stored: a second document with the id of one of them is not stored. Rows hold their ids
 * as attributes, so that after a restart they are read from the newest rows.
 */

import { type Filter, type Step, type Store, Turns } from "../../../engine/index.ts";
import type { BodyDocuments } from "../decode-task.ts";
import { documentIdAgeMs, documentIdRowsMax, documentIdsMax } from "../limits.ts";
import { cursorKey, digestBytes, digestOfDocument, digestOfEntry, idKey, indexKey } from "./document-list.ts";

/** Rows that are read at a time. */
const loadRowsMax = 50_000;

/** What is known of the documents of a body. */
interface KnownDocuments {
  /** Positions of the documents that are stored. */
  stored: number[];
  /** Settles once a document with one of the ids, which is being stored, is stored or is not. */
  pending: Promise<unknown> | undefined;
}

export class DocumentIds {
  readonly #store: Pick<Store, "arrived" | "arrivalMax">;
  readonly #elapsed: () => number;
  /** When each digest is forgotten, by `elapsed`. The oldest is the first. */
  readonly #stored = new Map<string, number>();
  readonly #pending = new Map<string, Promise<unknown>>();
  #loading: Promise<void> | undefined;

  /** `elapsed`: milliseconds that go on steadily. */
  constructor(store: Pick<Store, "arrived" | "arrivalMax">, elapsed: () => number) {
    this.#store = store;
    this.#elapsed = elapsed;
  }

  /** Reads the ids of the newest rows, unless that was done. Throws Failure. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  find(documents: BodyDocuments): KnownDocuments {
    const stored: number[] = [];
    let pending: Promise<unknown> | undefined;
    for (const [i, digest] of listDigests(documents).entries()) {
      if (this.#isStored(digest)) stored.push(documents.positions[i]!);
      pending ??= this.#pending.get(digest);
    }
    return { stored, pending };
  }

  /** Holds the ids, which `find` knows nothing of, while their documents are being stored, and keeps them once they are. */
  async hold<T>(documents: BodyDocuments, store: () => Promise<T>): Promise<T> {
    const digests = listDigests(documents);
    const storing = store();
    const settled = storing.catch(() => undefined);
    for (const digest of digests) this.#pending.set(digest, settled);
    try {
      const result = await storing;
      for (const digest of digests) this.#keep(digest);
      return result;
    } finally {
      for (const digest of digests) this.#pending.delete(digest);
    }
  }

  async #load(): Promise<void> {
    const isPresent = (key: string): Filter => ({ kind: "present", field: { kind: "attribute", key } });
    const isDocument: Filter = { kind: "and", of: [idKey, indexKey].map(isPresent) };
    const steps: Step[] = [
      { kind: "filter", filter: { kind: "or", of: [isDocument, isPresent(cursorKey)] } },
    ];
    const { arrivalMax } = this.#store;
    // Other requests are answered meanwhile.
    const turns = new Turns();
    for (let after = Math.max(0, arrivalMax - documentIdRowsMax); after < arrivalMax; ) {
      const selections = [{ steps, fromNs: 0n, rowsMax: loadRowsMax }];
      const [found] = await this.#store.arrived({ signal: "logs", after, through: arrivalMax, selections });
      for (const { attributes } of found!.rows) {
        if (turns.isOver) await turns.next();
        if (attributes[cursorKey] !== undefined) this.#keep(digestOfEntry(attributes).toString("latin1"));
        if (attributes[idKey] === undefined || attributes[indexKey] === undefined) continue;
        this.#keep(digestOfDocument(attributes).toString("latin1"));
      }
      after = found!.through;
    }
  }

  #isStored(digest: string): boolean {
    const untilMs = this.#stored.get(digest);
    return untilMs !== undefined && untilMs > this.#elapsed();
  }

  #keep(digest: string): void {
    const nowMs = this.#elapsed();
    this.#stored.delete(digest);
    this.#stored.set(digest, nowMs + documentIdAgeMs);
    for (const [oldest, untilMs] of this.#stored) {
      if (this.#stored.size <= documentIdsMax && untilMs > nowMs) break;
      this.#stored.delete(oldest);
    }
  }
}

function listDigests({ digests, positions }: BodyDocuments): string[] {
  const bytes = Buffer.from(digests.buffer, digests.byteOffset, digests.byteLength);
  return positions.map((_, i) => bytes.toString("latin1", i * digestBytes, (i + 1) * digestBytes));
}
