/** `line_format` and `label_format`. */

import type { Random } from "../../../fixtures/random.ts";
import type { StagedRow } from "./row.ts";
import { quote } from "./text.ts";

/** A function after a `|` in a text of a format. */
export interface Change {
  text: string;
  apply(value: string): string;
}

export type FormatPiece = { literal: string } | { label: string; changes: readonly Change[] };

/** Draws up to two functions. */
export function drawChanges(random: Random): Change[] {
  return Array.from({ length: random.below(3) }, () => drawChange(random));
}

function drawChange(random: Random): Change {
  switch (random.below(6)) {
    case 0:
      return { text: "upper", apply: (value) => value.toUpperCase() };
    case 1:
      return { text: "lower", apply: (value) => value.toLowerCase() };
    case 2:
      return { text: "trim", apply: (value) => value.trim() };
    case 3: {
      const length = 1 + random.below(12);
      return { text: `trunc ${length}`, apply: (value) => [...value].slice(0, length).join("") };
    }
    case 4:
      return { text: "default `none`", apply: (value) => (value === "" ? "none" : value) };
    default: {
      const [from, to] = [random.pick(["a", "/", "er", " "]), random.pick(["", "b", "--"])];
      return { text: `replace \`${from}\` \`${to}\``, apply: (value) => value.replaceAll(from, to) };
    }
  }
}

/** Prints a text of a format in quotes that its functions do not hold. */
export function printFormat(pieces: readonly FormatPiece[], random: Random): string {
  const text = pieces
    .map((piece) => {
      if ("literal" in piece) return piece.literal;
      const name =
        piece.label === "__line__" || piece.label === "__timestamp__" ? piece.label : `.${piece.label}`;
      return `{{${random.oneIn(3) ? " " : ""}${[name, ...piece.changes.map((change) => change.text)].join(" | ")}}}`;
    })
    .join("");
  return text.includes("`") ? `"${text.replaceAll(/["\\$]/g, "\\$&")}"` : quote(text, random);
}

export function format(pieces: readonly FormatPiece[], row: StagedRow): string {
  return pieces
    .map((piece) => {
      if ("literal" in piece) return piece.literal;
      return piece.changes.reduce((value, change) => change.apply(value), readPiece(piece.label, row));
    })
    .join("");
}

function readPiece(label: string, row: StagedRow): string {
  if (label === "__line__") return row.text;
  if (label === "__timestamp__") return String(row.timeMs);
  return row.readLabel(label) ?? "";
}
