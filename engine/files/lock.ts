/** The lock of a data folder: one process at a time has it open. */
import { readFileSync } from "node:fs";
import { readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { diskFullMessage, Failure, isDiskFull } from "../failure.ts";
import { syncFolder } from "./folder.ts";

interface LockHolder {
  pid: number;
  /** When the process started, in kernel ticks since boot. A pid is reused; the pair of pid and start time is not. */
  started: string;
  host: string;
}

/**
 * Locks the folder and returns the function that releases it. Throws Failure "folder" where a live process has it open.
 *
 * The target of the symbolic link `lock.<n>` with the greatest n names the holder. A link is created atomically, takes
 * no block of a full disk, and cannot be created where its number is taken. A process that finds a greater number than
 * its own after it created its link came too late and gives up its claim, so two processes can never both hold the
 * greatest number.
 */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  const started = readStartTicks(process.pid) ?? "-";
  for (;;) {
    const number = await tryLock(dir, `${process.pid} ${started} ${hostname()}`);
    if (number !== undefined) return () => release(dir, number);
  }
}

/** Returns whether a live process has the data folder `dir` open; this process counts too. */
export async function isOpenElsewhere(dir: string): Promise<boolean> {
  const { holder } = await readGreatestLock(dir);
  return holder !== undefined && isAlive(holder);
}

/** Returns the number of the lock, or undefined where another process came first: the next round checks its claim. */
async function tryLock(dir: string, holderText: string): Promise<number | undefined> {
  const { greatest, holder } = await readGreatestLock(dir);
  if (holder !== undefined && isAlive(holder)) {
    const problem = `${dir} is in use by process ${holder.pid}: stop it first, or use another folder`;
    throw new Failure("folder", problem);
  }
  const number = greatest + 1;
  try {
    await symlink(holderText, lockPath(dir, number));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw isDiskFull(error) ? new Failure("disk-full", diskFullMessage, { cause: error }) : error;
  }
  const numbers = await listLockNumbers(dir);
  if (numbers.some((other) => other > number)) {
    await rm(lockPath(dir, number), { force: true });
    return undefined;
  }
  for (const other of numbers) if (other < number) await rm(lockPath(dir, other), { force: true });
  await syncFolder(dir);
  return number;
}

async function readGreatestLock(dir: string): Promise<{ greatest: number; holder: LockHolder | undefined }> {
  const greatest = Math.max(0, ...(await listLockNumbers(dir)));
  return { greatest, holder: greatest === 0 ? undefined : await readHolder(lockPath(dir, greatest)) };
}

/**
 * Replaces the link by one that names no holder. The number stays taken: a process that listed the folder long ago
 * could otherwise claim it again.
 */
async function release(dir: string, number: number): Promise<void> {
  const released = join(dir, `released.${process.pid}`);
  await symlink("released", released);
  await rename(released, lockPath(dir, number));
  await syncFolder(dir);
}

async function listLockNumbers(dir: string): Promise<number[]> {
  const names = await readdir(dir);
  return names.flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice("lock.".length))] : []));
}

function lockPath(dir: string, number: number): string {
  return join(dir, `lock.${number}`);
}

/** Returns undefined where the lock was released, is damaged, or was removed meanwhile. */
async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const [, pid, started, host] = /^(\d+) (\S+) (\S+)$/.exec(await readlink(path)) ?? [];
    return host === undefined ? undefined : { pid: Number(pid), started: started!, host };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EINVAL") return undefined;
    throw error;
  }
}

/**
 * A holder on another host counts as dead: it cannot be checked, and Kubernetes itself refuses to mount a volume twice.
 */
function isAlive(holder: LockHolder): boolean {
  if (holder.host !== hostname()) return false;
  const started = readStartTicks(holder.pid);
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

/**
 * Field 22 of /proc/<pid>/stat. Undefined where there is no /proc or no such process; a zombie does not count as one.
 */
function readStartTicks(pid: number): string | undefined {
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
