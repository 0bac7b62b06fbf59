/** The format version of a data folder. A folder of another format is refused with an error, never misread. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { readCheckedFile, writeCheckedFile } from "./checked-file.ts";
import { makeFolder } from "./folder.ts";
import { lockFileNames } from "./folder-lock.ts";
import { isCount, isObjectOf, isText } from "./json-shape.ts";

/** Frozen: the format that this number names never changes. fixtures/format holds a folder in it. */
const formatVersion = 1;

/** Name of the file that marks a folder as a complete backup. It is written last and lists all other files. */
export const backupMarker = "backup";

interface FormatFile {
  name: string;
  format: number;
}

const isFormatFile = isObjectOf<FormatFile>({ name: isText, format: isCount });

/**
 * Names that a folder may hold before it is a data folder: what a lock or a killed first start left, and what mkfs makes
 * in a new volume.
 */
const namesBeforeFormat: readonly string[] = [...lockFileNames, "format.new", "lost+found"];

/**
 * Checks that `dir` is a data folder of this format. With `create`, a folder that is missing or empty becomes one. Throws
 * Failure "folder" where it holds files but no format file, it belongs to another program, has another format, or is a backup and `create` is set.
 */
export async function checkFormat(dir: string, options: { create: boolean }): Promise<void> {
  if (options.create && existsSync(join(dir, backupMarker))) {
    throw new Failure("folder", `${dir} is a backup: \`svc restore\` makes a data folder of it`);
  }
  const path = join(dir, "format");
  const found = await readCheckedFile(path, isFormatFile);
  if (found === "damaged") {
    const problem = `${path} is damaged: it should say {"name":"svc","format":${formatVersion}} and its checksum`;
    throw new Failure("folder", problem);
  }
  if (found === undefined) {
    if (!options.create)
      throw new Failure("folder", `${dir} is no data folder of svc: it has no file "format"`);
    await makeFolder(dir);
    checkEmpty(dir);
    await writeCheckedFile(path, { name: "svc", format: formatVersion } satisfies FormatFile);
    return;
  }
  if (found.name !== "svc" || found.format !== formatVersion) {
    const problem = `${dir} has data of format ${found.format}; this build reads format ${formatVersion}: use the svc that wrote it, or another folder`;
    throw new Failure("folder", problem);
  }
}

/** Throws Failure "folder" where the folder holds files of somebody else, or of a store that lost its format file. */
function checkEmpty(dir: string): void {
  const other = readdirSync(dir).find((name) => !namesBeforeFormat.includes(name));
  if (other === undefined) return;
  throw new Failure(
    "folder",
    `${dir} holds ${JSON.stringify(other)} but no file "format", so it is no data folder of svc: name an empty folder or a new one`,
  );
}
