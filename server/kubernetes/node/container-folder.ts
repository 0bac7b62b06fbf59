/**
 * Matches the files of a container's folder with what is known of them: after a rotation, a truncation, a compression
 * and a start of the agent each content goes on where it was left.
 */

import { join } from "node:path";
import { headBytesMax } from "./limits.ts";
import { LogFile, makeFileId } from "./log-file.ts";
import { type FilePlace, GzipFile, OpenFile, unpackedSize } from "./log-source.ts";
import type { PathReader } from "./path-reader.ts";
import { compareLogFiles, type LogFileName, parseLogFileName } from "./pod-folder.ts";

/** What all containers share. */
export interface TailContext {
  /** Folder of all pods. */
  readonly root: string;
  readonly node: string;
  /** Folders that a link may lead to. */
  readonly linkTargets: readonly string[];
  readonly warn: (message: string) => void;
  readonly paths: PathReader;
  readonly counts: TailCounts;
}

/** Counters since the start of the agent, and gauges. */
export interface TailCounts {
  lines: number;
  rows: number;
  bytes: number;
  batches: number;
  retries: number;
  /** Bytes of files that vanished, were truncated without a copy or could not be read, as far as they are known. */
  lostBytes: number;
  containers: number;
  openFiles: number;
  openGzipFiles: number;
}

/** A file in the folder, opened. */
interface Found {
  name: LogFileName;
  place: FilePlace;
  file: OpenFile;
  head: Buffer;
  /** Size modulo 2^32 of what a compressed file holds; 0 for others. */
  unpackedBytes: number;
}

/** How often a folder that changes under the reader is read again before the next look. */
const listingsMax = 3;

/**
 * Brings `files` up to what stands in the folder. Returns false where the folder has to be read again: a file is empty
 * or just being copied, files were being renamed, or too many are open.
 */
export async function matchFolder(
  context: TailContext,
  folder: string,
  files: LogFile[],
  mayOpen: boolean,
): Promise<boolean> {
  for (let listings = 0; listings < listingsMax; listings++) {
    const listing = listFiles(context, folder);
    const known = mayOpen
      ? listing
      : listing.filter(({ place }) => files.some((file) => hasPlace(file, place)));
    const { found, refused } = await openAll(context, folder, known);
    // A file that is renamed in between could be missed, and its lines would come after newer ones.
    if (!isSameListing(listing, listFiles(context, folder)) || found.length + refused.length < known.length) {
      for (const { file } of found) file.close();
      continue;
    }
    const matching = new FolderMatching(context, folder, files, refused);
    for (const each of found) matching.findKnown(each);
    const isComplete = matching.placeRest();
    files.sort((a, b) => compareLogFiles(a.name, b.name));
    return isComplete && known.length === listing.length;
  }
  return false;
}

/** Opens the files of a listing; none that is not what the listing says. Those that cannot be opened are `refused`. */
async function openAll(
  context: TailContext,
  folder: string,
  listing: readonly Listed[],
): Promise<{ found: Found[]; refused: FilePlace[] }> {
  const found: Found[] = [];
  const refused: FilePlace[] = [];
  for (const { name, place } of listing) {
    const opened = await openListed(context, folder, name);
    if (opened === "refused") refused.push(place);
    else if (opened?.place.dev === place.dev && opened.place.ino === place.ino) found.push(opened);
    else opened?.file.close();
  }
  return { found, refused };
}

function isSameListing(a: readonly Listed[], b: readonly Listed[]): boolean {
  const text = (listing: readonly Listed[]) =>
    listing.map(({ name, place }) => `${name.name} ${placeKey(place)}`).join("\n");
  return text(a) === text(b);
}

class FolderMatching {
  readonly #context: TailContext;
  readonly #folder: string;
  readonly #files: LogFile[];
  readonly #refused: readonly FilePlace[];
  readonly #claimed = new Set<LogFile>();
  /** Files whose inode has other content now, by device and inode. */
  readonly #replaced = new Map<string, LogFile>();
  /** Those of them that were open: they were not removed, but truncated. */
  readonly #truncated = new Set<LogFile>();
  readonly #rest: Found[] = [];

  constructor(context: TailContext, folder: string, files: LogFile[], refused: readonly FilePlace[]) {
    this.#context = context;
    this.#folder = folder;
    this.#files = files;
    this.#refused = refused;
  }

  /** Claims the known file that has this inode and these first bytes; else keeps the found one for `placeRest`. */
  findKnown(found: Found): void {
    const { name, head, place } = found;
    const sameInode = this.#files.filter((file) => hasPlace(file, place));
    const known = sameInode.find((file) => {
      return file.beginsLike(head) && (name.isGzip || place.size >= file.offset);
    });
    for (const file of sameInode) if (file !== known) this.#replace(file, place);
    if (known !== undefined) this.#claim(known, found);
    else this.#rest.push(found);
  }

  /** The inode of the file has other content: it was truncated, or the file was removed and its inode used again. */
  #replace(file: LogFile, place: FilePlace): void {
    const { source } = file;
    if (source instanceof OpenFile && !this.#isIntact(file, source)) this.#truncated.add(file);
    if (this.#truncated.has(file) || source instanceof GzipFile) file.close();
    file.dev = -1;
    file.ino = -1;
    this.#replaced.set(placeKey(place), file);
  }

  /**
   * Finds what the other files are: moved or compressed ones, copies, or new ones. Known files that cannot be opened now
   * are there all the same. Returns false where the folder has to be read again.
   */
  placeRest(): boolean {
    let isComplete = true;
    for (const known of this.#files) {
      const isRefused = this.#refused.some((place) => hasPlace(known, place));
      known.isListed = isRefused || this.#claimed.has(known);
      if (isRefused && known.isReadable) isComplete = false;
    }
    // Of a file and its copy the original goes first.
    const rank = ({ isGzip, rotation }: LogFileName) => Number(isGzip) * 2 + Number(rotation !== "");
    const originalsFirst = [...this.#rest].sort((a, b) => rank(a.name) - rank(b.name));
    for (const found of originalsFirst) isComplete = this.#placeFound(found) && isComplete;
    for (const known of this.#truncated) {
      if (!this.#claimed.has(known)) this.#reportTruncated(known);
    }
    return isComplete;
  }

  #placeFound(found: Found): boolean {
    const { name, head, file } = found;
    const ofRestart = this.#files.filter((each) => each.name.restart === name.restart);
    const moved = ofRestart.find((each) => !this.#claimed.has(each) && each.isCopiedTo(head));
    if (moved !== undefined) {
      this.#claim(moved, found);
      return true;
    }
    const isCopy = ofRestart.some((each) => this.#claimed.has(each) && each.isCopiedTo(head));
    // A copy that is just being written is too short to be told from the file that it is made of.
    const isBegun =
      name.rotation !== "" &&
      ofRestart.some(({ headBytes }) => headBytes?.subarray(0, head.length).equals(head));
    if (head.length === 0 || isCopy || isBegun) {
      file.close();
      return isCopy;
    }
    this.#add(found);
    return true;
  }

  #add(found: Found): void {
    const { place, head, name } = found;
    const truncations = (this.#replaced.get(placeKey(place))?.truncations ?? -1) + 1;
    const file = new LogFile({
      id: makeFileId(this.#context.node, this.#folder, place, truncations, head),
      path: `${this.#folder}/${name.name}`,
      dev: place.dev,
      ino: place.ino,
      truncations,
      head: { length: 0, hash: "" },
      at: [0, 0],
    });
    this.#files.push(file);
    this.#claim(file, found);
  }

  #claim(file: LogFile, { name, place, head, file: opened, unpackedBytes }: Found): void {
    this.#claimed.add(file);
    file.name = name;
    file.dev = place.dev;
    file.ino = place.ino;
    file.isListed = true;
    file.setHead(head);
    if (file.source instanceof OpenFile && !this.#isIntact(file, file.source)) file.close();
    // A file that has no name any more stays readable, and is read to its end before its compressed form is.
    if (file.source !== undefined) {
      opened.close();
      return;
    }
    if (!name.isGzip) {
      file.source = opened;
      return;
    }
    const isRead = unpackedBytes === file.offset % 2 ** 32 && file.offset > 0;
    opened.close();
    if (isRead || !file.isReadable) return;
    file.source = new GzipFile(join(this.#context.root, this.#folder, name.name), this.#context.counts);
  }

  /** Whether what was opened still has the content: another name, or none, does not matter, a truncation does. */
  #isIntact(file: LogFile, source: OpenFile): boolean {
    try {
      return source.size() >= file.offset && file.beginsLike(source.head(headBytesMax));
    } catch (error) {
      this.#context.warn(`${this.#folder}/${file.name.name} is opened again: ${describe(error)}`);
      return false;
    }
  }

  #reportTruncated(file: LogFile): void {
    const { warn, counts } = this.#context;
    const lost = Math.max(0, file.stuckSize - file.offset);
    counts.lostBytes += lost;
    warn(`${this.#folder}/${file.name.name} was truncated, and no copy of what it held is beside it`);
  }
}

async function openListed(
  context: TailContext,
  folder: string,
  name: LogFileName,
): Promise<Found | "refused" | undefined> {
  const path = join(context.root, folder, name.name);
  let file: OpenFile | undefined;
  try {
    file = new OpenFile(path, context.linkTargets);
    const head = name.isGzip ? await readGzipHead(path, context.counts) : file.head(headBytesMax);
    const unpackedBytes = name.isGzip ? unpackedSize(file) : 0;
    return { name, place: file.place, file, head, unpackedBytes };
  } catch (error) {
    file?.close();
    // A file that was removed in this moment is no problem; all others are of one file only.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    context.warn(`${folder}/${name.name} is skipped: ${describe(error)}`);
    return "refused";
  }
}

async function readGzipHead(path: string, counts: TailCounts): Promise<Buffer> {
  const gzip = new GzipFile(path, counts);
  const head = Buffer.alloc(headBytesMax);
  try {
    return head.subarray(0, await gzip.read(head, 0));
  } finally {
    gzip.close();
  }
}

interface Listed {
  name: LogFileName;
  place: FilePlace;
}

/** Log files of a folder, none where it was removed. */
function listFiles({ root, paths }: TailContext, folder: string): Listed[] {
  const listed: Listed[] = [];
  for (const entry of paths.list(join(root, folder))) {
    const name = parseLogFileName(entry.name);
    const stats = name && paths.look(join(root, folder, entry.name));
    if (name !== undefined && stats?.isFile()) {
      listed.push({ name, place: { dev: stats.dev, ino: stats.ino, size: stats.size } });
    }
  }
  return listed.sort((a, b) => compareLogFiles(a.name, b.name));
}

function hasPlace(file: LogFile, { dev, ino }: FilePlace): boolean {
  return file.dev === dev && file.ino === ino;
}

function placeKey({ dev, ino }: FilePlace): string {
  return `${dev}:${ino}`;
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
