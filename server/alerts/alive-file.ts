/**
 * The file in which the evaluator says every second that it is alive. It is not synced: what a process wrote outlives
 * its kill in the memory of the operating system. After a loss of power the file may be older, and more time counts as
 * downtime.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { AliveMark } from "./state/downtime.ts";

/** Version, Unix milliseconds in 15 digits, CRC-32 of both in hexadecimal. All lines have the same length. */
const form = /^(1 \d{15}) ([0-9a-f]{8})\n$/;

export class AliveFile implements AliveMark {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  read(): number | undefined {
    const [, text, sum] = form.exec(this.#readText()) ?? [];
    if (text === undefined || checksum(text) !== sum) return undefined;
    return Number(text.slice(2));
  }

  /** A write that fails leaves the older mark, which only lets more time count as downtime. */
  write(aliveMs: number): void {
    const text = `1 ${String(Math.trunc(aliveMs)).padStart(15, "0")}`;
    try {
      this.#file ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      writeSync(this.#file, `${text} ${checksum(text)}\n`, 0);
    } catch {
      this.close();
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #readText(): string {
    try {
      return readFileSync(this.#path, "latin1");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw error;
    }
  }
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
