/** Which format a data folder has: another one is refused by name, never misread. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { readChecked, writeChecked } from "./checked-file.ts";
import { makeFolder } from "./folder.ts";

/** Frozen: what this number names never changes. fixtures/format has a folder of it. */
const formatVersion = 1;

/** The file that makes a folder a backup, and whole: it comes last and names all others. */
export const backupMarker = "backup";

interface FormatFile {
  name: string;
  format: number;
}

/** Throws Failure "folder" where the folder is another program's or of another format, or a backup that would be written to. */
export async function checkFormat(dir: string, options: { create: boolean }): Promise<void> {
  if (options.create && existsSync(join(dir, backupMarker))) {
    throw new Failure("folder", `${dir} is a backup: \`svc restore\` makes a data folder of it`);
  }
  const path = join(dir, "format");
  const found = await readChecked<FormatFile>(path);
  if (found === "damaged") {
    throw new Failure(
      "folder",
      `${path} is damaged: it should say {"name":"svc","format":${formatVersion}} and its checksum`,
    );
  }
  if (found === undefined) {
    if (!options.create)
      throw new Failure("folder", `${dir} is no data folder of svc: it has no file "format"`);
    await makeFolder(dir);
    await writeChecked(path, { name: "svc", format: formatVersion } satisfies FormatFile);
    return;
  }
  if (found.name !== "svc" || found.format !== formatVersion) {
    throw new Failure(
      "folder",
      `${dir} has data of format ${found.format}; this build reads format ${formatVersion}: use the svc that wrote it, or another folder`,
    );
  }
}
