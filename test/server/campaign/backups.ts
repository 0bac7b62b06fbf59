/** Backups of a server that takes rows and changes meanwhile. One that ended restores clean, with all that it must hold. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { restoreBackup, verifyStore, writeBackup } from "../../../engine/index.ts";
import { countRows, findRowFaults, type SentBody } from "./bodies.ts";
import { type Configuration, readValue } from "./configuration.ts";
import { type ServerProcess, serve, stop } from "./server-process.ts";

interface EndedBackup {
  dir: string;
  /** What was acknowledged before it began. */
  bodies: readonly SentBody[];
  /** The resources that nothing has changed between the request and the end of the backup. */
  unchanged: ReturnType<Configuration["snapshot"]>;
}

interface Load {
  all: readonly SentBody[];
  configuration: Configuration;
  isOver: () => boolean;
}

export class Backups {
  readonly ended: EndedBackup[] = [];
  readonly #dir: string;
  #started = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Takes one backup after the other until it is over. Throws where one fails before. */
  async takeAll(server: ServerProcess, load: Load): Promise<void> {
    while (!load.isOver()) {
      try {
        await this.take(server, load);
      } catch (error) {
        if (!load.isOver()) throw error;
      }
    }
  }

  /** Takes one backup, as `svc backup` does. Throws where it is refused or breaks off. */
  async take({ url, token }: ServerProcess, { all, configuration }: Omit<Load, "isOver">): Promise<void> {
    const dir = join(this.#dir, `${this.#started++}`);
    const bodies = all.filter(({ isAcknowledged }) => isAcknowledged).map((body) => ({ ...body }));
    const before = configuration.snapshot();
    const answer = await fetch(`${url}/api/v1/backup`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
    });
    if (answer.status !== 200) throw new Error(`backup: ${answer.status} ${await answer.text()}`);
    await writeBackup(answer.body as AsyncIterable<Uint8Array>, dir, () => undefined);
    const after = configuration.resources;
    const unchanged = before.filter(({ acknowledged, unanswered }, i) => {
      const later = after[i]!;
      return unanswered.length + later.unanswered.length === 0 && later.acknowledged === acknowledged;
    });
    this.ended.push({ dir, bodies, unchanged });
  }

  /** Restores and verifies every backup that ended, and asks a server on the last one. Returns what is wrong. */
  async findFaults(): Promise<string[]> {
    const faults = this.#findHalf();
    for (const [i, backup] of this.ended.entries()) {
      const dir = `${backup.dir}-restored`;
      try {
        await restoreBackup(backup.dir, dir, { nowMs: Date.now(), onProgress: () => undefined });
      } catch (error) {
        faults.push(`backup ${i} is not restored: ${String(error)}`);
        continue;
      }
      const { damage } = await verifyStore(dir);
      faults.push(...damage.map(({ where, problem }) => `backup ${i}: ${where}: ${problem}`));
      if (i === this.ended.length - 1) faults.push(...(await findMissing(dir, backup)));
      rmSync(dir, { recursive: true });
    }
    return faults;
  }

  /** Backups that broke off and stand there as if they had ended. */
  #findHalf(): string[] {
    const dirs = Array.from({ length: this.#started }, (_, i) => join(this.#dir, `${i}`));
    const half = dirs.filter((dir) => existsSync(dir) && !this.ended.some((backup) => backup.dir === dir));
    return half.map((dir) => `${dir} stands there although its backup broke off`);
  }
}

async function findMissing(dir: string, { bodies, unchanged }: EndedBackup): Promise<string[]> {
  const server = await serve(dir);
  const faults = findRowFaults(bodies, await countRows(server));
  for (const resource of unchanged) {
    const found = await readValue(server, resource);
    if (found !== resource.acknowledged) faults.push(`${resource.kind} ${resource.id}: ${found}`);
  }
  await stop(server);
  return faults.map((fault) => `the last backup: ${fault}`);
}
