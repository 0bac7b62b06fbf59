/** Writes the answer to a bulk body, which reports on each action. */

import type { BulkAction } from "./action.ts";

/** Why a document is not stored, as the answer reports it. */
export interface ItemError {
  status: 400 | 409;
  type: string;
  reason: string;
}

export class BulkAnswer {
  #items = "";
  #count = 0;
  #hasErrors = false;

  /** Number of actions. */
  get count(): number {
    return this.#count;
  }

  /** Reports on an action: why its document is not stored, or that it is. */
  add(action: BulkAction, error: ItemError | undefined): void {
    this.#hasErrors ||= error !== undefined;
    this.#add(writeItem(action, this.#count, error));
  }

  /** Reports that the documents of so many equal actions without an id are stored. */
  addStored({ name, index }: BulkAction, count: number): void {
    const head = `{"${name}":{"_index":${JSON.stringify(index)},"_id":"`;
    for (let i = 0; i < count; i++) this.#add(`${head}${this.#count}"${writeStored(this.#count)}}`);
  }

  toString(): string {
    return `{"took":0,"errors":${this.#hasErrors},"items":[${this.#items}]}`;
  }

  #add(item: string): void {
    this.#items += this.#count === 0 ? item : `,${item}`;
    this.#count++;
  }
}

/** The item of an action at a position of the body, from 0. */
export function writeItem(
  { name, index, id }: BulkAction,
  position: number,
  error: ItemError | undefined,
): string {
  const head = `"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id === "" ? String(position) : id)}`;
  if (error === undefined) return `{"${name}":{${head}${writeStored(position)}}`;
  const { status, ...cause } = error;
  return `{"${name}":{${head},"status":${status},"error":${JSON.stringify(cause)}}}`;
}

/** The end of what is said of a stored document. */
function writeStored(position: number): string {
  return `,"_version":1,"result":"created","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":${position},"_primary_term":1,"status":201}`;
}
