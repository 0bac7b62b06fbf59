/** Finds the folders of containers below the folder of all pods. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { settlePolls } from "./limits.ts";
import type { PathReader } from "./path-reader.ts";
import { isContainerName, type PodName, parsePodFolder } from "./pod-folder.ts";

/** A folder of a container. */
export interface ContainerFolder {
  /** Path below the folder of all pods. */
  path: string;
  pod: PodName;
  container: string;
}

interface PodFolder {
  pod: PodName;
  time: number;
  /** Looks until which the folder is read again. */
  unsettled: number;
  containers: ContainerFolder[];
}

export class PodsFolder {
  readonly #root: string;
  readonly #paths: PathReader;
  #pods = new Map<string, PodFolder>();

  constructor(root: string, paths: PathReader) {
    this.#root = root;
    this.#paths = paths;
  }

  /** Returns the containers that there are now. Throws where the folder cannot be read. */
  list(): ContainerFolder[] {
    const found: ContainerFolder[] = [];
    const pods = new Map<string, PodFolder>();
    for (const entry of readdirSync(this.#root, { withFileTypes: true })) {
      const pod = entry.isDirectory() ? parsePodFolder(entry.name) : undefined;
      if (pod === undefined) continue;
      const folder = this.#pods.get(entry.name) ?? { pod, time: -1, unsettled: 0, containers: [] };
      this.#look(entry.name, folder);
      pods.set(entry.name, folder);
      found.push(...folder.containers);
    }
    this.#pods = pods;
    return found;
  }

  /** Lists the containers of a pod where its folder has changed. */
  #look(name: string, folder: PodFolder): void {
    const path = join(this.#root, name);
    const time = this.#paths.look(path)?.mtimeMs ?? 0;
    if (time !== folder.time) folder.unsettled = settlePolls;
    folder.time = time;
    if (folder.unsettled <= 0) return;
    folder.unsettled--;
    folder.containers = this.#paths
      .list(path)
      .filter((entry) => entry.isDirectory() && isContainerName(entry.name))
      .map(({ name: container }) => ({ path: `${name}/${container}`, pod: folder.pod, container }));
  }
}

/** Parses a path that `ContainerFolder` has. */
export function parseContainerPath(path: string): ContainerFolder | undefined {
  const [folder = "", container = ""] = path.split("/");
  const pod = parsePodFolder(folder);
  return pod !== undefined && isContainerName(container) ? { path, pod, container } : undefined;
}
