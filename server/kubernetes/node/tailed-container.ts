/** One container that is tailed: its logs, and the rows that are made of them. */

import type { ChunkReader } from "./chunk-reader.ts";
import { describe, type TailContext } from "./container-folder.ts";
import { ContainerLogs } from "./container-logs.ts";
import { podWaitMs } from "./limits.ts";
import type { LogBatchBuilder } from "./log-batch.ts";
import type { LogFile } from "./log-file.ts";
import { RowMaker } from "./log-row.ts";
import type { FindPod } from "./pod-lookup.ts";
import type { ContainerFolder } from "./pods-folder.ts";
import type { OpenTotal, TailedRecord } from "./record-assembler.ts";

/** What all containers that are tailed share. */
export interface TailShare {
  readonly context: TailContext;
  readonly pods: FindPod;
  readonly builder: LogBatchBuilder;
  readonly openTotal: OpenTotal;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
}

export class TailedContainer {
  readonly logs: ContainerLogs;
  readonly #share: TailShare;
  readonly #folder: ContainerFolder;
  readonly #maker: RowMaker;
  readonly #sinceMs: number;

  constructor(share: TailShare, folder: ContainerFolder, files: readonly LogFile[]) {
    this.#share = share;
    this.#folder = folder;
    this.#maker = new RowMaker(folder.pod, folder.container, share.context.node);
    this.#sinceMs = share.elapsed();
    const emit = (record: TailedRecord) => this.#emit(record);
    this.logs = new ContainerLogs(share.context, folder.path, files, emit, share.openTotal);
  }

  /** Asks what is known of the pod. Returns false where its logs should wait until more is known. */
  identify(): boolean {
    const info = this.#share.pods(this.#folder.pod);
    this.#maker.setInfo(info);
    return info !== undefined || this.#share.elapsed() - this.#sinceMs >= podWaitMs;
  }

  /** Looks for changes of its files. Returns ids of files that are gone and done. */
  async poll(mayOpen: boolean): Promise<string[]> {
    return (await this.#attempt(() => this.logs.poll(this.#share.elapsed(), mayOpen))) ?? [];
  }

  /** Reads one chunk of lines. Returns false where there are none. */
  async readTurn(reader: ChunkReader): Promise<boolean> {
    const file = await this.#attempt(() => this.logs.readTurn(reader, this.#share.elapsed()));
    if (file !== undefined) this.#share.builder.touch(file, this.logs.assembler);
    return file !== undefined;
  }

  /** An error of the file system is one of this container: the others have their turns. */
  async #attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      this.#share.context.warn(`${this.#folder.path} is passed over: ${describe(error)}`);
      return undefined;
    }
  }

  #emit(record: TailedRecord): void {
    const { builder, elapsed } = this.#share;
    for (const { file } of record.places) builder.touch(file, this.logs.assembler);
    builder.add(this.#maker.make(record), elapsed());
  }
}
