/** Small JSON files with a checksum: one line of JSON, then one line with its CRC-32 in hexadecimal. */
import { readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { replaceFile } from "./folder.ts";

/** Replaces the file atomically; it is on disk when the promise resolves. */
export async function writeCheckedFile(path: string, value: unknown): Promise<void> {
  const json = JSON.stringify(value);
  await replaceFile(path, `${json}\n${checksumOf(json)}\n`);
}

/** Returns the value, undefined where the file is missing, or "damaged" where its checksum does not match. */
export async function readCheckedFile<T>(path: string): Promise<T | undefined | "damaged"> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const end = text.indexOf("\n");
  const json = text.slice(0, end);
  if (end < 0 || text.slice(end + 1) !== `${checksumOf(json)}\n`) return "damaged";
  return JSON.parse(json) as T;
}

function checksumOf(json: string): string {
  return crc32(json).toString(16).padStart(8, "0");
}
