/** Small JSON files with a checksum: one line of JSON, then one line with its CRC-32 in hexadecimal. */
import { crc32 } from "node:zlib";
import { checkedFileBytesMax } from "../limits.ts";
import { replaceFile } from "./folder.ts";
import { readRegularFile } from "./regular-file.ts";

/** Replaces the file atomically; it is on disk when the promise resolves. */
export async function writeCheckedFile(path: string, value: unknown): Promise<void> {
  const json = JSON.stringify(value);
  await replaceFile(path, `${json}\n${checksumOf(json)}\n`);
}

/**
 * Returns the value, undefined where the file is missing, or "damaged" where its checksum does not match or `isValid`
 * refuses what it says. Throws Failure "damage" where it is a link or no regular file.
 */
export async function readCheckedFile<T>(
  path: string,
  isValid: (value: unknown) => value is T,
): Promise<T | undefined | "damaged"> {
  const content = await readRegularFile(path, checkedFileBytesMax);
  if (content === undefined) return undefined;
  if (content === "too long") return "damaged";
  const text = content.toString("utf8");
  const end = text.indexOf("\n");
  const json = text.slice(0, end);
  if (end < 0 || text.slice(end + 1) !== `${checksumOf(json)}\n`) return "damaged";
  const value = parseJson(json);
  return isValid(value) ? value : "damaged";
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function checksumOf(json: string): string {
  return crc32(json).toString(16).padStart(8, "0");
}
