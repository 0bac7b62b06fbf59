/** What runs on a node and writes logs: containers, the runtime that splits lines, and the kubelet that rotates. */

import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32, gzipSync } from "node:zlib";
import type { TailRow } from "../../../server/kubernetes/node/log-row.ts";

export type Random = () => number;

/** A generator with a seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Every record that was written, by its number; and how often it arrived. */
export class RecordLedger {
  checksums = new Uint32Array(1024);
  arrivals = new Uint8Array(1024);
  /** Rows that are no record: torn ones. */
  readonly strangers: string[] = [];
  count = 0;
  arrived = 0;
  lines = 0;

  write(make: (number: number) => string): string {
    if (this.count === this.checksums.length) {
      const checksums = new Uint32Array(2 * this.count);
      checksums.set(this.checksums);
      this.checksums = checksums;
      const arrivals = new Uint8Array(2 * this.count);
      arrivals.set(this.arrivals);
      this.arrivals = arrivals;
    }
    const text = make(this.count);
    this.checksums[this.count++] = crc32(text);
    return text;
  }

  take({ message }: TailRow): void {
    const number = Number(/^#(\d+) /.exec(message)?.[1] ?? -1);
    if (number < 0 || number >= this.count || this.checksums[number] !== crc32(message)) {
      if (this.strangers.length < 10) this.strangers.push(message.slice(0, 300));
      return;
    }
    if (++this.arrivals[number]! === 1) this.arrived++;
  }

  /** Numbers of records that did not arrive exactly once, the first ten. */
  wrong(): string[] {
    const wrong: string[] = [];
    for (let i = 0; i < this.count && wrong.length < 10; i++) {
      if (this.arrivals[i] !== 1) wrong.push(`#${i} came ${this.arrivals[i]} times`);
    }
    return wrong;
  }
}

interface Written {
  name: string;
  /** Numbers of records of which the file holds lines. */
  first: number;
  last: number;
}

const words = [
  "GET /cart 200",
  "größer als 3 €",
  "connection reset by peer",
  "日本語のログ",
  "ok",
  "a  b\tc",
];

/** One container. All its records are taken by one ledger. */
export class LogWriter {
  readonly folder: string;
  readonly #random: Random;
  readonly #ledger: RecordLedger;
  #restart = 0;
  #fd: number | undefined;
  #rotations = 0;
  #timeMs = Date.UTC(2026, 0, 29, 8);
  #nanos = 0;
  /** Rotated files, oldest first. */
  #rotated: Written[] = [];
  #first = 0;

  constructor(root: string, name: string, random: Random, ledger: RecordLedger) {
    this.folder = join(root, name);
    this.#random = random;
    this.#ledger = ledger;
    mkdirSync(this.folder, { recursive: true });
  }

  /** Writes some records whose lines of the two streams stand among each other; rotates anywhere in between. */
  burst(records: number, mayRotate: boolean): void {
    const streams: string[][] = [[], []];
    for (let i = 0; i < records; i++) {
      const stream = this.#random() < 0.7 ? 0 : 1;
      streams[stream]!.push(...this.#linesOf(stream));
    }
    let text: Buffer[] = [];
    const flush = () => {
      this.#write(Buffer.concat(text));
      text = [];
    };
    const at = [0, 0];
    while (at[0]! < streams[0]!.length || at[1]! < streams[1]!.length) {
      const stream = at[0]! >= streams[0]!.length ? 1 : at[1]! >= streams[1]!.length ? 0 : this.#pick(2);
      text.push(Buffer.from(this.#stamp() + streams[stream]![at[stream]!++]!, "latin1"));
      this.#ledger.lines++;
      if (!mayRotate || this.#random() > 0.002) continue;
      flush();
      this.rotate();
    }
    flush();
  }

  /** As the kubelet: the file gets another name, and the runtime opens a new one. Or as logrotate's copytruncate. */
  rotate(): void {
    const live = join(this.folder, `${this.#restart}.log`);
    if (this.#fd === undefined) return;
    const stamp = String(10_000_000 + this.#rotations++);
    const name = `${this.#restart}.log.${stamp}-${String(this.#rotations).padStart(6, "0")}`;
    if (this.#random() < 0.25) {
      copyFileSync(live, join(this.folder, name));
      truncateSync(live, 0);
    } else {
      renameSync(live, join(this.folder, name));
      this.#close();
      this.#open();
    }
    this.#rotated.push({ name, first: this.#first, last: this.#ledger.count - 1 });
    // A record that is just being written goes on in the new file.
    this.#first = Math.max(0, this.#ledger.count - 2_000);
    if (this.#rotated.length > 1 && this.#random() < 0.7) this.#compress(this.#rotated.at(-2)!);
  }

  /** The container starts again, with a file of its own. */
  restart(): void {
    if (this.#fd === undefined) return;
    this.#close();
    this.#rotated.push({
      name: `${this.#restart}.log`,
      first: this.#first,
      last: this.#ledger.count - 1,
    });
    this.#first = this.#ledger.count;
    this.#restart++;
  }

  /** Removes the oldest files that the hub has whole. */
  removeArrived(): void {
    while (this.#rotated.length > 3) {
      const { name, first, last } = this.#rotated[0]!;
      for (let i = first; i <= last; i++) if (this.#ledger.arrivals[i] === 0) return;
      rmSync(join(this.folder, name));
      this.#rotated.shift();
    }
  }

  close(): void {
    if (this.#fd !== undefined) this.#close();
  }

  #compress(written: Written): void {
    const path = join(this.folder, written.name);
    if (!/\d$/.test(written.name) || !readdirSync(this.folder).includes(written.name)) return;
    writeFileSync(`${path}.tmp`, gzipSync(readFileSync(path), { level: 1 }));
    renameSync(`${path}.tmp`, `${path}.gz`);
    rmSync(path);
    written.name += ".gz";
  }

  /** CRI lines of one new record, without their times, one byte a character. */
  #linesOf(stream: number): string[] {
    const name = stream === 0 ? "stdout" : "stderr";
    const { text, raw } = this.#makeText();
    return raw.split("\n").flatMap((line) => {
      const bytes = Buffer.from(line).toString("latin1");
      void text;
      const parts: string[] = [];
      const isLong = this.#random() < 0.1 && bytes.length > 1;
      const cut = isLong ? 1 + this.#pick(bytes.length - 1) : bytes.length;
      for (let at = 0; at === 0 || at < bytes.length; at += cut) parts.push(bytes.slice(at, at + cut));
      return parts.map((part, i) => ` ${name} ${i === parts.length - 1 ? "F" : "P"} ${part}\n`);
    });
  }

  /** The message that should arrive, and what the program prints. */
  #makeText(): { text: string; raw: string } {
    const kind = this.#random();
    const word = words[this.#pick(words.length)]!;
    if (kind < 0.05) {
      const text = this.#ledger.write(
        (number) =>
          `#${number} ERROR ${word}\njava.lang.IllegalStateException: ${word}\n\tat a.B.c(D.java:1)\nCaused by: x.Y: z\n\t... 3 more`,
      );
      return { text, raw: text };
    }
    if (kind < 0.1) {
      const text = this.#ledger.write((number) => `#${number} {${word}}`);
      return { text, raw: JSON.stringify({ level: "warn", msg: text, nested: { n: 5 } }) };
    }
    const text = this.#ledger.write((number) => `#${number} ${word} ${"x".repeat(this.#pick(120))}`);
    return { text, raw: text };
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#open();
    // The agent may see any beginning of what is written.
    const cut = this.#random() < 0.3 ? this.#pick(bytes.length) : bytes.length;
    writeSync(this.#fd!, bytes.subarray(0, cut));
    if (cut < bytes.length) writeSync(this.#fd!, bytes.subarray(cut));
  }

  #open(): void {
    this.#fd ??= openSync(join(this.folder, `${this.#restart}.log`), "a");
  }

  #close(): void {
    closeSync(this.#fd!);
    this.#fd = undefined;
  }

  #stamp(): string {
    this.#nanos += 1 + this.#pick(1_000_000);
    if (this.#nanos >= 1_000_000_000) {
      this.#nanos -= 1_000_000_000;
      this.#timeMs += 1_000;
    }
    return `${new Date(this.#timeMs).toISOString().slice(0, 19)}.${String(this.#nanos).padStart(9, "0")}Z`;
  }

  #pick(count: number): number {
    return Math.floor(this.#random() * count);
  }
}
