/**
 * A mount namespace with a small file system of its own, which servers run in one after the other. Without root it is
 * in a user namespace, too.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;
const unshare = ["unshare", isRoot ? "-m" : "-rm"];

/** Why no such namespace can be made here; undefined where it can. */
export function findMountProblem(): string | undefined {
  const { status } = spawnSync(unshare[0]!, [...unshare.slice(1), "mount", "-t", "tmpfs", "svc", "/mnt"]);
  return status === 0 ? undefined : "neither root nor user namespaces: no file system can be mounted";
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
  static async open(folder: string, bytes: number): Promise<MountSpace> {
    const [base, dir] = [join(folder, "disk"), join(folder, "data")];
    for (const path of [base, dir]) mkdirSync(path);
    const script = `mount -t tmpfs -o size=${bytes} svc "$0" && mkdir "$0/store" && mount --bind "$0/store" "$1" && echo made && exec sleep 100000`;
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

  close(): void {
    this.#holder.kill("SIGKILL");
  }

  #run(script: string): void {
    const words = [...this.#enter.slice(1), "sh", "-c", script, this.#base, this.dir];
    const { status, stderr } = spawnSync(this.#enter[0]!, words);
    if (status !== 0) throw new Error(`${script}: ${stderr.toString()}`);
  }
}
