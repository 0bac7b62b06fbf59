/**
 * Rows, columns, encodings and sizes of a store's sealed chunks, added up from manifests and chunk headers, and the rows
 * that are not sealed yet. Read-only: another process may have the store open.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { ColumnOutline, ColumnRole } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { checkFormat } from "../files/format-version.ts";
import { openEnvironment } from "../lmdb/environment.ts";
import { dayName, listDays } from "../model/day.ts";
import { type Signal, signals } from "../model/signal.ts";
import { openChunk } from "../partition/chunk-store.ts";
import { readManifest } from "../partition/manifest.ts";
import { readUnsealedRows, type UnsealedRows } from "./unsealed-rows.ts";

/** One column, added up over all chunks that have it. */
export interface ColumnInventory {
  role: ColumnRole;
  /** Attribute key, or name of a group of message variables; "" for the other roles. */
  key: string;
  /** Number of chunks that use each encoding. */
  encodings: Record<string, number>;
  /** Rows that have a value. */
  rows: number;
  /** Bytes of payloads and membership filters before compression. */
  encodedBytes: number;
  /** Bytes of payloads and membership filters as stored, frames included. */
  storedBytes: number;
}

/** The sealed chunks of one signal, added up. */
export interface SignalInventory {
  signal: Signal;
  rows: number;
  /** Rows that the journal alone holds. `columns` and sizes leave them out. */
  unsealedRows: number;
  chunks: number;
  partitions: number;
  /** Bytes of disk blocks that the partitions' files occupy, free pages included. */
  allocatedBytes: number;
  /** By stored bytes, the largest first. */
  columns: ColumnInventory[];
  /** One message for each chunk whose header could not be read. */
  unread: string[];
}

/**
 * Reads the inventory of the store in `dir`: logs always and first, then each other signal that has rows. Throws Failure "folder" where the folder holds no store of this format, and
 * Failure "damage" where no copy of a partition's manifest is intact.
 */
export async function readInventory(dir: string): Promise<SignalInventory[]> {
  await checkFormat(dir, { create: false });
  const inventories: SignalInventory[] = [];
  const unsealed = await readUnsealedRows(dir);
  for (const signal of signals) {
    const inventory = await readSignalInventory(dir, signal, unsealed);
    const isEmpty = inventory.partitions === 0 && inventory.unsealedRows === 0;
    if (!isEmpty || signal === "logs") inventories.push(inventory);
  }
  return inventories;
}

async function readSignalInventory(
  dir: string,
  signal: Signal,
  unsealed: UnsealedRows,
): Promise<SignalInventory> {
  const inventory: SignalInventory = {
    signal,
    rows: 0,
    unsealedRows: 0,
    chunks: 0,
    partitions: 0,
    allocatedBytes: 0,
    columns: [],
    unread: [],
  };
  const columns = new Map<string, ColumnInventory>();
  for (const day of listDays(join(dir, signal))) {
    const sealed = await addPartition(join(dir, signal, dayName(day)), inventory, columns);
    unsealed.seal(signal, day, sealed);
  }
  inventory.unsealedRows = unsealed.count(signal);
  inventory.columns = [...columns.values()].sort((a, b) => b.storedBytes - a.storedBytes);
  return inventory;
}

/** Returns the arrival number up to which the partition's rows are sealed; 0 without a manifest. */
async function addPartition(
  dir: string,
  inventory: SignalInventory,
  columns: Map<string, ColumnInventory>,
): Promise<number> {
  const { manifest } = await readManifest(dir);
  if (manifest === undefined) return 0;
  inventory.partitions++;
  inventory.allocatedBytes += measureAllocatedBytes(dir);
  for (const entry of manifest.chunks) {
    const headers = readColumnHeaders(dir, entry);
    if (typeof headers === "string") {
      inventory.unread.push(headers);
      continue;
    }
    inventory.chunks++;
    inventory.rows += entry.rows;
    for (const header of headers) addColumn(columns, header);
  }
  return manifest.arrivalSealed;
}

/**
 * The column headers of a chunk, or why they cannot be read: a running store may have merged the chunk away in the
 * meantime.
 */
function readColumnHeaders(dir: string, entry: ChunkEntry): readonly ColumnOutline[] | string {
  const environment = openEnvironment(dir, { readOnly: true });
  try {
    return openChunk(environment, entry, dir).header.columns.all();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.message;
  } finally {
    environment.close();
  }
}

function addColumn(columns: Map<string, ColumnInventory>, header: ColumnOutline): void {
  const { role, key } = header;
  const name = `${role} ${key}`;
  const column = columns.get(name) ?? { role, key, encodings: {}, rows: 0, encodedBytes: 0, storedBytes: 0 };
  columns.set(name, column);
  column.encodings[header.encoding] = (column.encodings[header.encoding] ?? 0) + 1;
  column.rows += header.present;
  column.encodedBytes += header.payloadBytes + header.filterBytes;
  column.storedBytes += (header.storedBytes ?? 0) + (header.filterStoredBytes ?? 0);
}

/** `stat` counts blocks of 512 bytes, whatever the file system's own block size. */
function measureAllocatedBytes(dir: string): number {
  return readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).blocks * 512, 0);
}
