/** The built page on disk: its document, and assets with hashes in their names. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** An asset of the page, as the build lists it. Beside the file stand `.br` and `.gz`, compressed. */
export interface PageFile {
  name: string;
  contentType: string;
  gzipBytes: number;
}

/** Where the build writes. The program that was built stands in `dist` itself. */
export const pageFolder = join(
  import.meta.dirname,
  import.meta.filename.endsWith(".ts") ? "../../dist/page" : "../../page",
);
/** Lists the assets. */
export const pageListName = "files.json";

/** The page in memory. */
export interface BuiltPage {
  document: Buffer;
  /** Of the document, in quotes. */
  etag: string;
  assets: ReadonlyMap<string, PageFile>;
}

const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Reads the page; undefined where it was not built. */
export function readPage(folder: string): BuiltPage | undefined {
  let files: PageFile[];
  let document: Buffer;
  try {
    files = JSON.parse(readFileSync(join(folder, pageListName), "utf8")) as PageFile[];
    document = readFileSync(join(folder, "index.html"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const etag = `"${createHash("sha256").update(document).digest("base64url").slice(0, 22)}"`;
  return { document, etag, assets: new Map(files.map((file) => [file.name, file])) };
}

/** Bytes of an asset in the best encoding that the browser takes, and the encoding's name; undefined for none. */
export function readAsset(
  folder: string,
  { name }: PageFile,
  accepted: string,
): { bytes: Buffer; encoding: string | undefined } {
  for (const [encoding, ending] of encodings) {
    const isAccepted = accepted.split(",").some((each) => each.trim() === encoding);
    if (isAccepted) return { bytes: readFileSync(join(folder, name + ending)), encoding };
  }
  return { bytes: readFileSync(join(folder, name)), encoding: undefined };
}
