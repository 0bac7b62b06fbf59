/** Templates of messages and their ids, written independently of the engine from engine/FORMAT.md, with BigInt. */

/** A word of a template: letters, digits, `_`, `.`, `-` and characters that are not ASCII. */
const token = /[A-Za-z0-9_.\u0080-\u{10ffff}-]+/gu;

/** The text of a message's template, with `<*>` for each variable. */
export function templateText(message: string): string {
  return splitAtVariables(message).join("<*>");
}

export function templateId(message: string): string {
  const parts = splitAtVariables(message).map((piece) => Buffer.from(piece, "utf8"));
  const bytes = parts.flatMap((part, i) => (i === 0 ? [...part] : [0xff, ...part]));
  return hash64(Uint8Array.from(bytes)).toString(16).padStart(16, "0");
}

/** A line `Key: value`, and in groups what is before the value, the value, and the blanks after it. */
const keyedLine = /^([ \t\r]*([^ \t\r].*?):[ \t\r]+)([^ \t\r](?:.*[^ \t\r])?)([ \t\r]*)$/s;

function readKeyedLine(line: string): [before: string, value: string, behind: string] | undefined {
  const [, before, key, value, behind] = keyedLine.exec(line) ?? [];
  if (key === undefined || key.replace(/[^ \t\r]/g, "").length > 7) return undefined;
  return [before!, value!, behind!];
}

/** The texts before, between and after the variables. */
function splitAtVariables(message: string): string[] {
  const lines = message.split("\n");
  if (lines.filter((line) => readKeyedLine(line) !== undefined).length < 3) return splitAtTokens(message);
  // Pieces of neighbouring lines are one text; a value stands between two.
  const found = [""];
  const add = ([first, ...others]: string[]) => {
    found[found.length - 1] += first!;
    found.push(...others);
  };
  for (const [i, line] of lines.entries()) {
    if (i > 0) add(["\n"]);
    const keyed = readKeyedLine(line);
    if (keyed === undefined) add(splitAtTokens(line));
    else {
      add(splitAtTokens(keyed[0]));
      found.push(keyed[2]);
    }
  }
  return found;
}

/** The texts around the words with a digit. */
function splitAtTokens(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  for (const { 0: word, index } of text.matchAll(token)) {
    if (!/[0-9]/.test(word)) continue;
    found.push(text.slice(start, index));
    start = index + word.length;
  }
  return [...found, text.slice(start)];
}

const [prime1, prime2, prime3, prime4, prime5] = [
  11400714785074694791n,
  14029467366897019727n,
  1609587929392839161n,
  9650029242287828579n,
  2870177450012600261n,
] as const;
const word = (value: bigint) => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint) => word((value << bits) | (value >> (64n - bits)));
const applyRound = (sum: bigint, lane: bigint) => word(rotate(word(sum + lane * prime2), 31n) * prime1);

/** xxHash64 with seed 0, after https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. */
export function hash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash: bigint = prime5;
  if (bytes.length >= 32) {
    const lanes = [word(prime1 + prime2), prime2, 0n, word(-prime1)];
    for (; at + 32 <= bytes.length; at += 32) {
      for (let i = 0; i < 4; i++) lanes[i] = applyRound(lanes[i]!, view.getBigUint64(at + i * 8, true));
    }
    const [a, b, c, d] = lanes as [bigint, bigint, bigint, bigint];
    hash = word(rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n));
    for (const lane of lanes) hash = word((hash ^ applyRound(0n, lane)) * prime1 + prime4);
  }
  hash = word(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash = word(rotate(hash ^ applyRound(0n, view.getBigUint64(at, true)), 27n) * prime1 + prime4);
  }
  if (at + 4 <= bytes.length) {
    hash = word(rotate(hash ^ word(BigInt(view.getUint32(at, true)) * prime1), 23n) * prime2 + prime3);
    at += 4;
  }
  for (; at < bytes.length; at++) hash = word(rotate(hash ^ word(BigInt(bytes[at]!) * prime5), 11n) * prime1);
  hash = word((hash ^ (hash >> 33n)) * prime2);
  hash = word((hash ^ (hash >> 29n)) * prime3);
  return hash ^ (hash >> 32n);
}
