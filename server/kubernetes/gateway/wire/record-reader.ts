/** What reads the fields of one record that rules test; one implementation for each signal. */

import type { ExclusionFilter } from "../../../../engine/index.ts";
import type { BodyBuffer } from "../../../ingest/body-buffer.ts";
import type { ProtoScanner } from "../../../ingest/protobuf-scanner.ts";
import type { TestedAttributes } from "./tested-attributes.ts";
import type { TestedFields } from "./tested-fields.ts";

export interface WireReaders {
  buffer: BodyBuffer;
  scanner: ProtoScanner;
  attributes: TestedAttributes;
  fields: TestedFields;
  texts: ExclusionFilter;
}

export interface RecordReader {
  /** Whether this tag of a message above the records holds the next level of messages; see `levels`. */
  isChild(level: number, tag: number): boolean;
  /** Levels of messages between the resource and its records, the records included. */
  readonly levels: number;
  /** Called before the children of the message [scanner.at, end) of a level below the scope are visited. */
  enter(tag: number, level: number, end: number): void;
  /**
   * Index of the exclusion that leaves out the record [scanner.at, end), whose resource and scope are in `texts`; -1 for
   * none.
   */
  findExclusion(end: number): number;
}
