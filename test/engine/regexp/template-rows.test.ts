/** Patterns that the values of variables decide, over many rows of a few templates, against JavaScript's own matcher. */
import type { Random } from "../../../fixtures/random.ts";
import { describePatterns } from "./message-store.ts";

/** Of each template, how many of a hundred rows have it, and a message. */
const templates: readonly [share: number, make: (random: Random) => string][] = [
  [
    30,
    (r) =>
      `Receiving block blk_${r.below(2) ? "-" : ""}${r.below(1e9)}${r.below(1e6)} src: /10.0.0.${r.below(250)}`,
  ],
  // Few values, so that rows share texts.
  [20, (r) => `worker ${r.below(12)} took ${r.below(90)} ms of ${r.below(3)}s`],
  // One of the variables has the same value in all rows.
  [20, (r) => `user u77 opened file-${r.below(1e6).toString(16)}ab9 ünïcode${r.below(50)}é`],
  // Whole messages that are single variables, and some with the byte that stands for a variable.
  [10, (r) => `x${r.below(1e9)}`],
  [3, (r) => `odd \u0001 ${r.below(1e5)} end`],
  [
    15,
    (r) =>
      `GET /api/v${r.below(4)}/items/${r.below(1e5)} ${200 + r.below(300)} ${"7".repeat(r.below(16))}${r.below(10)}x`,
  ],
  // So few rows that they are matched one by one.
  [1, (r) => `rare block blk_${r.below(1e9)} of ${r.below(9)}`],
  [1, (r) => `line 1\nline ${r.below(100)}`],
  // Lines `Key: value`.
  [
    20,
    (r) =>
      `Logon 7\n\n\tName:\t${r.pick(["svc a", "Jo", "x77"])}\n\tID:\t\t0x${r.below(1e6).toString(16)}\nPath: C:\\x y\\${r.below(1e5)}.exe \nclosing text`,
  ],
];

const patterns = [
  "blk_-?[0-9]{5,}1[0-9]+ ",
  "blk_-?[0-9]*77[0-9]*",
  "block blk_[0-9]+ src",
  "worker (3|7|11) took",
  "took [0-9]+[05] ms of [12]",
  "(took|Receiving).*[1-3]s?$",
  "file-[0-9a-f]*[a-f]{2}ab9",
  "code1[0-9]é$",
  "^x[0-9]*9$",
  "\\b4[0-9]{2}\\b",
  "items/[0-9]*0[0-9]* (2|3)[0-9]+ ",
  // More states than an automaton may have: undecided rows are matched with their whole messages.
  "7[0-9]{13}x",
  "[0-9]*7[0-9]{11}[0-9]x$",
  "(?m)^line 9",
  "odd . [0-9]+ e",
  "nothing[0-9]",
  "0x[0-9a-f]*7[0-9a-f]",
  "ID:\\s+0x[0-9a-f]+3\\nPath: C",
  "(?m)^Path: .*7[.]exe $",
  "svc a\\n|\\\\[0-9]+1[.]exe",
  "Jo\\s+ID",
  "y.[0-9]*55[.]",
  "[0-9]",
  "",
];

const drawn = templates.flatMap((each) => Array.from({ length: each[0] }, () => each));

describePatterns(
  "patterns over values",
  { rows: 20_000, make: (random) => random.pick(drawn)[1](random), encoding: "template" },
  patterns,
);
