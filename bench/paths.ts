/** Where the benchmark and the project stand on the disk. */
import { join } from "node:path";

/** The working copy that this benchmark belongs to. */
export const projectRoot: string = join(import.meta.dirname, "..");

/** A path within `bench/`. */
export function benchPath(path: string): string {
  return join(import.meta.dirname, path);
}
