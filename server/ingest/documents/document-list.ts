/** The documents of one body that have ids of the sender's own: of Elasticsearch, or entries of a journal. */

import { hash } from "node:crypto";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyDocuments, BodyTask } from "../decode-task.ts";
import { bodyDocumentIdsMax } from "../limits.ts";

/** Attributes of rows that hold the document's id and its index. */
export const idKey = "_id";
export const indexKey = "_index";
/** The attribute that identifies an entry among those of all journals. */
export const cursorKey = "__CURSOR";

/** Bytes of a digest, which stands for an id within its index and its environment. */
export const digestBytes = 16;
const environmentKey = "environment";

/** Attributes that identify a document. */
export const documentKeys: ReadonlySet<string> = new Set([idKey, indexKey, environmentKey]);

/** Computes from the attributes of a row what identifies it. Equal ids in two environments (clusters) are different ones. */
export type DigestOf = (attributes: Readonly<Record<string, string>>, environment?: string | null) => Buffer;

/** The digest of a document's id within its index. */
export const digestOfDocument: DigestOf = (attributes, environment) =>
  digestOf([scopeOf(attributes, environment), attributes[indexKey] ?? "", attributes[idKey]]);

/** The digest of the cursor of a journal's entry. */
export const digestOfEntry: DigestOf = (attributes, environment) =>
  digestOf([scopeOf(attributes, environment), { journal: attributes[cursorKey] }]);

function scopeOf(attributes: Readonly<Record<string, string>>, environment: string | null = null): string {
  return environment ?? attributes[environmentKey] ?? "";
}

function digestOf(identity: readonly unknown[]): Buffer {
  return hash("sha256", JSON.stringify(identity), "buffer").subarray(0, digestBytes);
}

/** Collects the documents with ids of one body. */
export class DocumentList {
  readonly #digestOf: DigestOf;
  readonly #environment: string | null;
  readonly #stored: ReadonlySet<number>;
  /** Digests of the documents that were added, as texts of one character a byte. */
  readonly #added = new Map<string, number>();
  #position = -1;
  #digest = "";

  constructor({ admission, storedDocuments = [] }: BodyTask, digestOf: DigestOf) {
    this.#digestOf = digestOf;
    this.#environment = admission?.environment ?? null;
    this.#stored = new Set(storedDocuments);
  }

  /** No more documents of this body can be added. */
  get isFull(): boolean {
    return this.#added.size === bodyDocumentIdsMax;
  }

  /** Takes the next document with an id; returns whether a document with this id is stored, or came before in the body. */
  isTaken(attributes: Readonly<Record<string, string>>): boolean {
    this.#position++;
    this.#digest = this.#digestOf(attributes, this.#environment).toString("latin1");
    return this.#stored.has(this.#position) || this.#added.has(this.#digest);
  }

  /** Records that the document that was taken last is among the rows of the body. Throws Refusal 413 at one too many. */
  add(): void {
    if (this.isFull) {
      const problem = `the body has more than ${bodyDocumentIdsMax} documents with ids: send it in smaller parts`;
      throw new Refusal(413, problem);
    }
    this.#added.set(this.#digest, this.#position);
  }

  /** Undefined where no document has an id. */
  finish(): BodyDocuments | undefined {
    if (this.#position < 0) return undefined;
    const digests = Buffer.alloc(this.#added.size * digestBytes);
    let at = 0;
    for (const digest of this.#added.keys()) at += digests.write(digest, at, "latin1");
    return { digests, positions: [...this.#added.values()] };
  }
}
