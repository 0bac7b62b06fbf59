/** One process at a time has a store open. */
import { readFileSync } from "node:fs";
import { readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { diskFullMessage, Failure, isDiskFull } from "../failure.ts";
import { syncFolder } from "./folder.ts";

interface Holder {
  pid: number;
  /** When the process started, in the kernel's ticks: a pid is used again, this pair is not. */
  started: string;
  host: string;
}

/**
 * Throws Failure "folder" where a process that is alive has the folder open. Returns the release.
 *
 * The holder is named by the symbolic link `lock.<n>` with the greatest n: a link appears whole or not at all, takes no block of a
 * full disk, and fails where the number is taken. Who finds a greater number than his own afterwards was too late, so two can
 * never both find themselves the greatest.
 */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  const own = { pid: process.pid, started: startOf(process.pid) ?? "-", host: hostname() };
  for (;;) {
    const number = await takeNumber(dir, `${own.pid} ${own.started} ${own.host}`);
    if (number !== undefined) return () => release(dir, number);
  }
}

/** Whether a process that is alive, this one too, has the folder open. */
export async function isOpenElsewhere(dir: string): Promise<boolean> {
  const { holder } = await greatestIn(dir);
  return holder !== undefined && isAlive(holder);
}

/** Undefined where another process came first; its claim is looked at in the next round. */
async function takeNumber(dir: string, text: string): Promise<number | undefined> {
  const { greatest, holder } = await greatestIn(dir);
  if (holder !== undefined && isAlive(holder)) {
    throw new Failure(
      "folder",
      `${dir} is in use by process ${holder.pid}: stop it first, or use another folder`,
    );
  }
  const number = greatest + 1;
  try {
    await symlink(text, pathOf(dir, number));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw isDiskFull(error) ? new Failure("disk-full", diskFullMessage, { cause: error }) : error;
  }
  const numbers = await numbersIn(dir);
  if (numbers.some((other) => other > number)) {
    await rm(pathOf(dir, number), { force: true });
    return undefined;
  }
  for (const other of numbers) if (other < number) await rm(pathOf(dir, other), { force: true });
  await syncFolder(dir);
  return number;
}

async function greatestIn(dir: string): Promise<{ greatest: number; holder: Holder | undefined }> {
  const greatest = Math.max(0, ...(await numbersIn(dir)));
  return { greatest, holder: greatest === 0 ? undefined : await readHolder(pathOf(dir, greatest)) };
}

/** The number stays: one that is free again could be taken by a process that looked long ago. */
async function release(dir: string, number: number): Promise<void> {
  const released = join(dir, `released.${process.pid}`);
  await symlink("released", released);
  await rename(released, pathOf(dir, number));
  await syncFolder(dir);
}

async function numbersIn(dir: string): Promise<number[]> {
  const names = await readdir(dir);
  return names.flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice("lock.".length))] : []));
}

function pathOf(dir: string, number: number): string {
  return join(dir, `lock.${number}`);
}

/** Undefined where nobody that can be asked holds it: released, damaged, or gone by now. */
async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const [, pid, started, host] = /^(\d+) (\S+) (\S+)$/.exec(await readlink(path)) ?? [];
    return host === undefined ? undefined : { pid: Number(pid), started: started!, host };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EINVAL") return undefined;
    throw error;
  }
}

/** A holder on another host cannot be asked; a volume that two hosts mount at once is refused by Kubernetes itself. */
function isAlive(holder: Holder): boolean {
  if (holder.host !== hostname()) return false;
  const started = startOf(holder.pid);
  if (started !== undefined) return started === holder.started;
  if (process.platform === "linux") return false;
  return canSignal(holder.pid);
}

function canSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Field 22 of /proc/<pid>/stat; undefined where there is no such process (a zombie is none) or no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}
