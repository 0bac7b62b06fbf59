/** Patterns over messages that are stored as texts, against JavaScript's own matcher. */
import type { Random } from "../../../fixtures/random.ts";
import { describePatterns } from "./message-store.ts";

const letters = [..."abcdefghij"];
const word = (random: Random): string =>
  Array.from({ length: 2 + random.below(7) }, () => random.pick(letters)).join("");
const words = (random: Random, most: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => word(random)).join(
    random.pick([" ", "\n", "é ", "\t"]),
  );
const hex = (random: Random): string => random.below(0x100_0000).toString(16);

/** Lines without digits are no variables, so that each message is a template of its own. */
function makeMessage(random: Random): string {
  switch (random.below(8)) {
    case 0:
      return "";
    case 1:
      return words(random, 4);
    case 2:
      return `id 0x${hex(random)} ${words(random, 40)} 0x${hex(random)}`;
    case 3:
      return `0x${hex(random)}é${words(random, 10)}0x0x${hex(random)}🦊${hex(random)}`;
    case 4:
      return `${words(random, 30)} abab${"ab".repeat(random.below(9))}c ${words(random, 20)} state=ok`;
    case 5:
      return `${words(random, 20)} value ${"7".repeat(random.below(18))}${random.below(10)}x ${words(random, 9)}`;
    case 6:
      return `${words(random, 60)}\nuser=${word(random)} code=${random.below(200)} ünïcode ${words(random, 60)}`;
    default:
      return `${words(random, 5)} \u0001 0x${"0".repeat(random.below(300))}${hex(random)}`;
  }
}

describePatterns("patterns over texts", { rows: 12_000, make: makeMessage, encoding: "text" }, [
  // With a prefix that is searched for: in many rows, in few, beside texts that are required, too.
  "0x[0-9a-f]{2}77[0-9a-f]*",
  "0x0*[1-9a-f]",
  "0x[0-9a-f]+é[a-d]+",
  "0x0x[a-f]",
  "0x[^é]*🦊",
  "0x[0-9a-f]+ .* 0x[a-f]",
  "(abab)+c",
  "ababab+c [a-e]+ ",
  "user=[a-e]+ code=1[0-9]7",
  "code=1[0-9]{2} ünï",
  "id 0x.*fade",
  "absent[0-9]",
  // Without one.
  "[a-e]{5} [f-j]{4}",
  "[a-c]+ code=[0-9]*7",
  "(?m)^[a-d]+$",
  "^$",
  "é [a-j]+$",
  "\\bcafe\\b",
  "[éü]n",
  "🦊|c state",
  ".",
  "",
  // More states than an automaton may have.
  "value 7[0-9]{13}x",
  "[0-9]*7[0-9]{11}[0-9]x",
]);
