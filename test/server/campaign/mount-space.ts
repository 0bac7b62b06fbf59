/**
 * A mount namespace with a small file system of its own, which servers run in one after the other. Without root it is
 * in a user namespace, too.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;
const unshare = ["unshare", isRoot ? "-m" : "-rm"];

/** Why no such namespace can be made here; undefined where it can. */
export function findMountProblem(): string | undefined {
  const { status } = spawnSync(unshare[0]!, [...unshare.slice(1), "mount", "-t", "tmpfs", "svc", "/mnt"]);
  return status === 0 ? undefined : "neither root nor user namespaces: no file system can be mounted";
}

/** Makes a file with an empty ext4 file system. Returns why that, or mounting it, cannot be done here. */
export function makeImage(path: string, mebibytes: number): string | undefined {
  if (!isRoot) return "an image is mounted by root alone";
  const script = 'truncate -s "$1M" "$0" && mkfs.ext4 -qF "$0" && unshare -m mount -o loop "$0" /mnt';
  const { status } = spawnSync("sh", ["-c", script, path, String(mebibytes)]);
  return status === 0 ? undefined : "no ext4 file system can be made and mounted on a loop device";
}

export class MountSpace {
  /** The folder that the file system's folder `store` is mounted on: the data folder of servers. */
  readonly dir: string;
  readonly #base: string;
  readonly #holder: ChildProcess;
  readonly #enter: readonly string[];

  private constructor(folder: string, holder: ChildProcess) {
    this.#base = join(folder, "disk");
    this.dir = join(folder, "data");
    this.#holder = holder;
    const user = isRoot ? [] : ["-U", "--preserve-credentials"];
    this.#enter = ["nsenter", "-t", String(holder.pid), ...user, "-m"];
  }

  /** Makes the namespace; `bytes` is the size of its file system. */
  static open(folder: string, bytes: number): Promise<MountSpace> {
    return MountSpace.#open(folder, `mount -t tmpfs -o size=${bytes} svc "$0"`);
  }

  /** Makes the namespace with the ext4 file system of an image, which an error turns read-only. It takes root. */
  static openImage(folder: string, image: string): Promise<MountSpace> {
    return MountSpace.#open(folder, `mount -o loop,errors=remount-ro '${image}' "$0"`);
  }

  static async #open(folder: string, mount: string): Promise<MountSpace> {
    const [base, dir] = [join(folder, "disk"), join(folder, "data")];
    for (const path of [base, dir]) mkdirSync(path, { recursive: true });
    const script = `${mount} && mkdir -p "$0/store" && mount --bind "$0/store" "$1" && echo made && exec sleep 100000`;
    const holder = spawn(unshare[0]!, [...unshare.slice(1), "sh", "-c", script, base, dir]);
    await new Promise<void>((resolve, reject) => {
      holder.stdout.once("data", () => resolve());
      holder.once("close", (code) => reject(new Error(`the namespace ended with ${code}`)));
    });
    return new MountSpace(folder, holder);
  }

  /** Starts a program in the namespace. The superuser's right to read and write every file is taken from it. */
  get wrapper(): string[] {
    return [...this.#enter, "setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"];
  }

  /** A path as this process reaches it, which is not in the namespace. */
  pathOf(name: string): string {
    return join(`/proc/${this.#holder.pid}/root`, this.#base, name);
  }

  /** Mounts the data folder again, read-only or not. Open files stay open on the mount that was there. */
  attach(mode: "ro" | "rw"): void {
    this.#run(`umount -l "$1"; mount --bind "$0/store" "$1" && mount -o remount,bind,${mode} "$1"`);
  }

  /** Takes the file system away from the data folder. */
  detach(): void {
    this.#run('umount -l "$1"');
  }

  /** Sets the mode of a folder of the store. */
  chmod(name: string, mode: string): void {
    this.#run(`chmod ${mode} "$0/store/${name}"`);
  }

  /** Makes the ext4 file system meet an error: from now on it is read-only, for open files, too. */
  breakImage(): void {
    this.#run('echo 1 > "/sys/fs/ext4/$(basename "$(findmnt -no SOURCE "$0")")/trigger_fs_error"');
  }

  /** Ends the namespace; its file system is unmounted with it. */
  async close(): Promise<void> {
    const ended = once(this.#holder, "close");
    this.#holder.kill("SIGKILL");
    await ended;
  }

  #run(script: string): void {
    const words = [...this.#enter.slice(1), "sh", "-c", script, this.#base, this.dir];
    const { status, stderr } = spawnSync(this.#enter[0]!, words);
    if (status !== 0) throw new Error(`${script}: ${stderr.toString()}`);
  }
}
