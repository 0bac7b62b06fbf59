/**
 * Lists the templates of sealed chunks with the number of rows of each, on the thread that has the chunks' columns in
 * its cache.
 */

import { chunkIdentity, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ChunkTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { ColumnOf } from "../column/column.ts";
import { isDamage } from "../failure.ts";
import { checkControl } from "../plan/query-control.ts";
import { TextBuilder, type TextVector } from "../vector/text.ts";
import { type AttributeGroups, listAttributeGroups } from "./attribute-groups.ts";
import { listTemplateGroups, type TemplateGroups } from "./template-groups.ts";

/** Asks for the templates of sealed chunks. */
export interface TemplatesTask extends ChunkTask {
  kind: "templates";
  /** Lists as well which attributes the rows have, for which the columns of attributes are read. */
  withAttributes: boolean;
}

/** The templates of a chunk's messages. */
export interface ListedTemplates {
  dir: string;
  /** The chunk's identity, from `chunkIdentity`. */
  chunk: string;
  /** For each template its text, followed by the character classes of its slots. */
  keys: TextVector;
  /** The ids of the templates, as in `TemplateKeys`. */
  ids: Uint8Array;
  /** For each template the number of its rows. */
  rows: Uint32Array;
  /** Rows by template (the index of its key) and level; undefined where they are too many. */
  groups: TemplateGroups | undefined;
  /** Undefined where the task did not ask for them, null where they are too many. */
  attributes: AttributeGroups | undefined | null;
}

/**
 * Lists the templates of a task's chunks. Leaves out chunks that are damaged or whose messages are not stored as
 * templates. Throws Failure "deadline", "cancelled", "limit".
 */
export async function listTemplates(task: TemplatesTask, access: ChunkAccess): Promise<ListedTemplates[]> {
  const { useColumns, yieldThread } = access;
  const listed: ListedTemplates[] = [];
  for (const ref of task.chunks) {
    await yieldThread();
    checkControl(task.control);
    if (ref.kind !== "sealed") continue;
    const found = await useColumns(() => listChunk(ref, task, access));
    if (found !== undefined) listed.push(found);
  }
  return listed;
}

async function listChunk(
  ref: SealedChunkRef,
  { withAttributes, control }: TemplatesTask,
  { open, yieldThread }: ChunkAccess,
): Promise<ListedTemplates | undefined> {
  let view: ChunkView | undefined;
  const pause = async () => {
    await yieldThread();
    checkControl(control);
  };
  try {
    view = open(ref);
    const column = view.column({ kind: "message" });
    if (column.kind !== "message") return undefined;
    const templates = templatesIn(view, column);
    const { codes } = column.messages;
    const attributes = withAttributes ? await listAttributeGroups(view, codes, pause) : undefined;
    return { dir: ref.dir, chunk: chunkIdentity(ref.entry), ...templates, attributes };
  } catch (error) {
    // The query that reads the chunk reports its damage.
    if (isDamage(error)) return undefined;
    throw error;
  } finally {
    view?.close();
  }
}

function templatesIn(
  view: ChunkView,
  column: ColumnOf<"message">,
): Omit<ListedTemplates, "dir" | "chunk" | "attributes"> {
  const { templates, templateCount, slotBase, classes, codes } = column.messages;
  const keys = new TextBuilder();
  const rows = new Uint32Array(templateCount);
  for (let template = 0; template < templateCount; template++) {
    const text = templates.bytes.subarray(templates.offsets[template], templates.offsets[template + 1]);
    const slots = classes.subarray(slotBase[template], slotBase[template + 1]);
    keys.pushBytes(Buffer.concat([text, slots]));
    rows[template] = column.messages.rowCount(template);
  }
  const ids = idsIn(view);
  return { keys: keys.finishExact(), ids, rows, groups: listTemplateGroups(view, codes, templateCount) };
}

/** A copy of the ids of a chunk's templates: what the view has stays in its thread. */
function idsIn(view: ChunkView): Uint8Array {
  const column = view.column({ kind: "template" });
  if (column.kind !== "dictionary") throw new Error("templates: their ids are no dictionary");
  return column.values.bytes.slice();
}
