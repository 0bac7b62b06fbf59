/** Tails the logs of all containers of a node: discovery, reading in turns, batches, and the positions on disk. */

import { type FSWatcher, watch } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { withJoinedSignal } from "../../throttle/joined-signal.ts";
import { pause } from "../cluster/pause.ts";
import { BatchSender, type LogSink } from "./batch-sender.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { describe, type TailContext, type TailCounts } from "./container-folder.ts";
import {
  batchMs as batchMsDefault,
  containersMax,
  openFilesMax,
  pollMs as pollMsDefault,
  resendWaitMs,
  unlinkedBytesMax,
} from "./limits.ts";
import { type BatchPlan, LogBatchBuilder } from "./log-batch.ts";
import { type FilePosition, LogFile } from "./log-file.ts";
import { PathReader } from "./path-reader.ts";
import { compareLogFiles } from "./pod-folder.ts";
import type { FindPod } from "./pod-lookup.ts";
import { type ContainerFolder, PodsFolder, parseContainerPath } from "./pods-folder.ts";
import { Positions } from "./positions.ts";
import { TailedContainer, type TailShare } from "./tailed-container.ts";

export interface LogTailOptions {
  /** Folder of all pods: /var/log/pods. */
  folder: string;
  /** Folder for the positions; survives restarts. */
  stateFolder: string;
  node: string;
  sink: LogSink;
  pods: FindPod;
  /** Is told the same for as long as it lasts, each time that it is noticed. */
  warn: (message: string) => void;
  /** Folders besides `folder` that a log file may be a link into. Docker keeps logs in its own folder. */
  linkTargets?: readonly string[] | undefined;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  pollMs?: number | undefined;
  batchMs?: number | undefined;
}

export class LogTail {
  readonly #options: LogTailOptions;
  readonly #pollMs: number;
  readonly #batchMs: number;
  readonly #context: TailContext;
  readonly #share: TailShare;
  readonly #reader = new ChunkReader();
  readonly #pods: PodsFolder;
  readonly #containers = new Map<string, TailedContainer>();
  /** Containers that had lines at their last turn, in the order of their next ones. */
  #active: TailedContainer[] = [];
  readonly #closing = new AbortController();
  #wake = new AbortController();
  #positions!: Positions;
  #sender!: BatchSender;
  #startedMs = 0;
  /** True when the batch that was on its way at the last end is on its way again. Nothing is read before. */
  #isResent = false;
  /** Ids of files that are gone, which the positions still have. */
  #forgotten: string[] = [];
  #polledMs = Number.NEGATIVE_INFINITY;

  constructor(options: LogTailOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? pollMsDefault;
    this.#batchMs = options.batchMs ?? batchMsDefault;
    const { folder, node, linkTargets = [], warn, elapsed, pods } = options;
    const paths = new PathReader(warn);
    this.#context = {
      ...{ root: folder, node, linkTargets: [folder, ...linkTargets] },
      ...{ warn, paths, counts: makeCounts() },
    };
    const builder = new LogBatchBuilder();
    this.#share = { context: this.#context, pods, builder, openTotal: { length: 0 }, elapsed };
    this.#pods = new PodsFolder(folder, paths);
  }

  get counts(): Readonly<TailCounts> {
    return this.#context.counts;
  }

  /** Tails until `close`. Rejects where the positions cannot be read or written at the start. */
  async run(): Promise<void> {
    const { stateFolder, warn, sink } = this.#options;
    this.#positions = await Positions.open(stateFolder, warn);
    this.#sender = new BatchSender(this.#context, this.#positions, sink, this.#closing.signal);
    this.#startedMs = this.#share.elapsed();
    const watcher = this.#watch();
    try {
      this.#restore();
      while (!this.#closing.signal.aborted) await this.#step();
      await this.#sender.idle();
    } finally {
      watcher?.close();
      for (const { logs } of this.#containers.values()) for (const file of logs.files) file.close();
      await this.#positions.close();
    }
  }

  /** Begins to end: `run` resolves when the batch on its way is acknowledged or fails. */
  close(): void {
    this.#closing.abort();
    this.#wake.abort();
  }

  async #step(): Promise<void> {
    const { elapsed, builder } = this.#share;
    if (elapsed() - this.#polledMs >= this.#pollMs && (await this.#poll())) await this.#resend();
    const hasRead = this.#isResent && (await this.#readTurns());
    this.#send();
    if (builder.isFull && this.#sender.isBusy) {
      // Files are still looked for: one that is removed meanwhile is readable as long as it is open.
      const leftMs = this.#polledMs + this.#pollMs - elapsed();
      const stopWaiting = new AbortController();
      await withJoinedSignal([stopWaiting.signal, this.#closing.signal], async (signal) => {
        await Promise.race([this.#sender.idle(), pause(Math.max(1, leftMs), signal)]);
        stopWaiting.abort();
      });
      return;
    }
    if (hasRead) return nextTurn();
    this.#wake = new AbortController();
    if (this.#closing.signal.aborted) return;
    await pause(this.#pollMs, this.#wake.signal);
    // A hint may come at any time: folders are read at most once in this time.
    if (this.#wake.signal.aborted) await pause(Math.min(20, this.#pollMs), this.#closing.signal);
    this.#polledMs = Number.NEGATIVE_INFINITY;
  }

  /** A hint that pods came or went. Only polling finds everything. */
  #watch(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.folder, () => this.#wake.abort());
      watcher.on("error", (error) => this.#context.warn(`pods are found by polling alone: ${error.message}`));
      return watcher;
    } catch (error) {
      this.#context.warn(`pods are found by polling alone: ${describe(error)}`);
      return undefined;
    }
  }

  /** Makes the containers of which positions are stored, also those that are gone by now. */
  #restore(): void {
    const stored = new Map<string, FilePosition>();
    for (const { from, position } of this.#positions.sending?.ranges ?? []) {
      stored.set(position.id, { ...position, at: from });
    }
    for (const position of this.#positions.files) stored.set(position.id, position);
    const files = [...stored.values()].map((position) => new LogFile(position));
    for (const [path, ofContainer] of Map.groupBy(files, ({ folder }) => folder)) {
      const folder = parseContainerPath(path);
      if (folder !== undefined) this.#add(folder, ofContainer);
    }
  }

  #add(folder: ContainerFolder, files: readonly LogFile[]): void {
    this.#containers.set(folder.path, new TailedContainer(this.#share, folder, files));
  }

  /** Looks at all files. Returns false where nothing can be told. */
  async #poll(): Promise<boolean> {
    this.#polledMs = this.#share.elapsed();
    const listed = this.#list();
    if (listed === undefined) return false;
    for (const folder of listed.values()) {
      if (this.#containers.has(folder.path)) continue;
      if (this.#containers.size < containersMax) this.#add(folder, []);
      else this.#context.warn(`more than ${containersMax} containers: ${folder.path} is not tailed yet`);
    }
    const { counts } = this.#context;
    let openFiles = 0;
    for (const [path, container] of this.#containers) {
      const { logs } = container;
      this.#forgotten.push(...(await container.poll(counts.openFiles < openFilesMax)));
      for (const { source } of logs.files) if (source !== undefined) openFiles++;
      if (logs.files.length === 0 && !listed.has(path)) this.#containers.delete(path);
    }
    counts.containers = this.#containers.size;
    counts.openFiles = openFiles;
    await this.#forget();
    this.#boundUnlinked();
    const active = new Set(this.#active);
    for (const container of this.#containers.values()) active.add(container);
    this.#active = [...active];
    return true;
  }

  /** Containers by path; undefined where nothing can be told, as while the folder is not mounted. */
  #list(): Map<string, ContainerFolder> | undefined {
    try {
      const listed = this.#pods.list();
      if (listed.length === 0 && this.#containers.size === 0) return undefined;
      return new Map(listed.map((folder) => [folder.path, folder]));
    } catch (error) {
      this.#context.warn(`no logs are found: ${describe(error)}`);
      return undefined;
    }
  }

  async #forget(): Promise<void> {
    // The journal has one writer at a time.
    if (this.#forgotten.length === 0 || this.#sender.isBusy) return;
    try {
      await this.#positions.forget(this.#forgotten);
      this.#forgotten = [];
    } catch (error) {
      // Positions of files that are gone do no harm.
      this.#context.warn(describe(error));
    }
  }

  /** Gives up files that were removed long before they could be sent: they still take the node's disk. */
  #boundUnlinked(): void {
    const unlinked = [...this.#containers.values()].flatMap(({ logs }) =>
      logs.files.filter(({ isListed, source }) => !isListed && source !== undefined),
    );
    let total = unlinked.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0);
    for (const file of unlinked) {
      if (total <= unlinkedBytesMax) return;
      total -= file.unreadBytes;
      this.#context.counts.lostBytes += file.unreadBytes;
      this.#context.warn(
        `${file.folder}/${file.name.name} was removed before it could be sent: it is given up`,
      );
      file.close();
    }
  }

  /** Sends the batch again that was on its way when the agent ended. */
  async #resend(): Promise<void> {
    const plan = this.#positions.sending;
    if (this.#isResent || plan === undefined) {
      this.#isResent = true;
      return;
    }
    const known = new Map<string, { container: TailedContainer; file: LogFile }>();
    for (const container of this.#containers.values()) {
      for (const file of container.logs.files) known.set(file.id, { container, file });
    }
    const ranges = plan.ranges.flatMap((range) => {
      const found = known.get(range.position.id);
      return found === undefined ? [] : [{ ...range, ...found }];
    });
    // A record may go on in the next file.
    ranges.sort((a, b) => compareLogFiles(a.file.name, b.file.name));
    const isMissing = ranges.some(({ file }) => file.source === undefined);
    if (isMissing && this.#share.elapsed() - this.#startedMs < resendWaitMs) return;
    const containers = new Set(ranges.map(({ container }) => container));
    if (!(await this.#identifyAll(containers))) return;
    for (const { container, file, from, position } of ranges) {
      await container.logs.readRange(file, from, position.at, this.#reader, this.#share.elapsed());
    }
    for (const { logs } of containers) logs.assembler.flush();
    const { rows } = this.#share.builder.take().batch;
    for (const { file, position } of ranges) file.continueAt(position.at);
    const files = ranges.map(({ file }) => file);
    this.#isResent = true;
    this.#sender.send(plan, { key: plan.key, rows }, () => acknowledge(files, plan));
  }

  /** Waits until it is known which pods the containers are of. Returns false where the agent closes before. */
  async #identifyAll(containers: ReadonlySet<TailedContainer>): Promise<boolean> {
    while ([...containers].some((container) => !container.identify())) {
      await pause(this.#pollMs, this.#closing.signal);
      if (this.#closing.signal.aborted) return false;
    }
    return true;
  }

  /** Reads a chunk of each container that may have lines. Returns whether any was read. */
  async #readTurns(): Promise<boolean> {
    const turns = this.#active;
    const still: TailedContainer[] = [];
    let turn = 0;
    for (; turn < turns.length && !this.#closing.signal.aborted; turn++) {
      if (this.#share.builder.isFull && !this.#send()) break;
      const container = turns[turn]!;
      if (!container.identify()) continue;
      if (await container.readTurn(this.#reader)) still.push(container);
    }
    // Those that had no turn are the next ones.
    this.#active = turns.slice(turn).concat(still);
    return still.length > 0;
  }

  /**
   * Sends the batch that is being built where it is full or old enough. Returns false where the one before is still on
   * its way.
   */
  #send(): boolean {
    const { builder, elapsed } = this.#share;
    if (builder.sinceMs === undefined) return true;
    if (!builder.isFull && elapsed() - builder.sinceMs < this.#batchMs) return true;
    if (this.#sender.isBusy || this.#closing.signal.aborted) return false;
    const { plan, batch, files } = builder.take();
    this.#sender.send(plan, batch, () => acknowledge(files, plan));
    return true;
  }
}

function acknowledge(files: readonly LogFile[], plan: BatchPlan): void {
  const byId = new Map(files.map((file) => [file.id, file]));
  for (const { position } of plan.ranges) {
    const file = byId.get(position.id);
    if (file !== undefined) file.acknowledged = position.at;
  }
}

function makeCounts(): TailCounts {
  return {
    lines: 0,
    rows: 0,
    bytes: 0,
    batches: 0,
    retries: 0,
    lostBytes: 0,
    containers: 0,
    openFiles: 0,
    openGzipFiles: 0,
  };
}
