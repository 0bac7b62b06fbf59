/**
 * Stores the pieces of an input. A piece is a range of whole lines with an idempotency key of its own. New pieces are stored
 * together, as one batch; where it has enough rows, it is a chunk at once. Pieces that were stored before add nothing.
 */

import { hashKey, type Store } from "../../../engine/index.ts";
import { countLines } from "../../text/newlines.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyPiece, RefusedLine } from "../decode-task.ts";
import { type Intake, type IntakeBody, type IntakeResult, namedStoreKey } from "../intake.ts";

/** Whole lines of an input. */
export interface InputPiece {
  bytes: Uint8Array;
  /** Its idempotency key: a second piece with the key adds nothing. */
  key: string;
  /** Undefined: it begins with the line after the previous piece, or with line 1. */
  place?: PiecePlace | undefined;
}

/** The lines of an input that a piece is. */
interface PiecePlace {
  /** Number of its first line, from 1. */
  firstLine: number;
  /** Number of its lines. */
  lines: number;
}

interface KeyedPiece extends InputPiece {
  keyHash: string;
}

interface PlacedPiece extends KeyedPiece {
  place: PiecePlace;
}

/** Where pieces come from, and how they are read. */
export type PieceSource = Omit<IntakeBody, "body" | "key" | "pieces" | "onRead">;

/** What became of pieces. Refused lines are numbered as in the input. */
export interface TakenPieces {
  accepted: number;
  /** Rows that the same pieces had added before. */
  duplicates: number;
  refused: number;
  /** Rows that ingestion rules left out. */
  dropped: number;
  /** The first refused lines, of each piece that was taken before and of the others together. */
  errors: RefusedLine[];
}

const nothing: TakenPieces = { accepted: 0, duplicates: 0, refused: 0, dropped: 0, errors: [] };

export class PieceIntake {
  readonly #store: Pick<Store, "findKeyRows">;
  readonly #intake: Pick<Intake, "take">;

  constructor(store: Pick<Store, "findKeyRows">, intake: Pick<Intake, "take">) {
    this.#store = store;
    this.#intake = intake;
  }

  /**
   * Resolves once the rows are on disk. `onRead` is called as soon as no piece is needed any more, if that is earlier.
   * Throws Failure, and Refusal: 413 where pieces that are not shared do not go together.
   */
  async take(source: PieceSource, pieces: readonly InputPiece[], onRead?: () => void): Promise<TakenPieces> {
    const keyed = pieces.map((piece) => ({ ...piece, keyHash: hashOf(source, piece) }));
    const rows = this.#store.findKeyRows(keyed.map(({ keyHash }) => keyHash));
    if (rows.every((each) => each === undefined)) return this.#takeTogether(source, keyed, onRead);
    const placed = placeAll(keyed);
    const taken: TakenPieces[] = [];
    for (const [i, piece] of placed.entries()) {
      const duplicates = rows[i];
      if (duplicates === undefined) continue;
      // A line of metrics may be several samples, so that their number says nothing of refused lines.
      const isWhole = source.signal !== "metrics" && duplicates === piece.place.lines;
      taken.push(isWhole ? { ...nothing, duplicates } : await this.#takeAgain(source, piece));
    }
    const fresh = placed.filter((_, i) => rows[i] === undefined);
    if (fresh.length > 0) taken.unshift(await this.#takeTogether(source, fresh, onRead));
    return addUp(taken);
  }

  /** Takes new pieces as one batch, or in smaller groups where they do not go together. */
  async #takeTogether(
    source: PieceSource,
    pieces: readonly KeyedPiece[],
    onRead?: () => void,
  ): Promise<TakenPieces> {
    let isRead = false;
    const noteRead = (): void => {
      isRead = true;
      onRead?.();
    };
    try {
      const body = new Uint8Array(0);
      const task = { ...source, body, key: null, pieces: pieces.map(toBodyPiece) };
      const taken = await this.#intake.take({ ...task, onRead: noteRead });
      return { ...countsOf(taken), duplicates: 0 };
    } catch (error) {
      const isTooLarge = error instanceof Refusal && error.status === 413 && pieces.length > 1;
      // Once they are read their memory may hold other pieces.
      if (!isTooLarge || isRead || !pieces.every(isShared)) throw error;
      const placed = placeAll(pieces);
      const middle = placed.length >> 1;
      const first = await this.#takeTogether(source, placed.slice(0, middle));
      return addUp([first, await this.#takeTogether(source, placed.slice(middle))]);
    }
  }

  /** Reads a piece that was taken before once more, for the lines that were refused or left out. */
  async #takeAgain(source: PieceSource, piece: PlacedPiece): Promise<TakenPieces> {
    const { bytes, key } = piece;
    // The buffer of bytes that are not shared holds other pieces, too, and would be gone with this one.
    const body = isShared(piece) ? bytes : bytes.slice();
    const taken = await this.#intake.take({ ...source, body, key });
    const { accepted, errors, ...counts } = countsOf(taken);
    return {
      ...counts,
      ...(taken.duplicate ? { accepted: 0, duplicates: accepted } : { accepted, duplicates: 0 }),
      errors: errors.map(({ line, reason }) => ({ line: piece.place.firstLine - 1 + line, reason })),
    };
  }
}

/** Finds the places of pieces: one without a place begins with the line after the previous piece, and its lines are counted. */
function placeAll(pieces: readonly KeyedPiece[]): PlacedPiece[] {
  let firstLine = 1;
  return pieces.map((piece) => {
    const place = piece.place ?? { firstLine, lines: countLines(piece.bytes) };
    firstLine = place.firstLine + place.lines;
    return { ...piece, place };
  });
}

function toBodyPiece({ bytes, keyHash, place }: KeyedPiece): BodyPiece {
  return { bytes, keyHash, firstLine: place?.firstLine };
}

function hashOf({ signal, sender }: PieceSource, { key }: InputPiece): string {
  return hashKey(namedStoreKey({ signal, sender, key }));
}

function isShared({ bytes }: Pick<BodyPiece, "bytes">): boolean {
  return bytes.buffer instanceof SharedArrayBuffer;
}

function countsOf({ accepted, refused, dropped = 0, errors }: IntakeResult) {
  return { accepted, refused, dropped, errors };
}

function addUp(taken: readonly TakenPieces[]): TakenPieces {
  return taken.reduce(
    (sum, each) => ({
      accepted: sum.accepted + each.accepted,
      duplicates: sum.duplicates + each.duplicates,
      refused: sum.refused + each.refused,
      dropped: sum.dropped + each.dropped,
      errors: [...sum.errors, ...each.errors],
    }),
    nothing,
  );
}
