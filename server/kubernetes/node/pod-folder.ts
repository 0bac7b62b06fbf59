/** Names under /var/log/pods: the kubelet's folders of pods, and the files in a folder of a container. */

/** What the name of a pod's folder says. */
export interface PodName {
  namespace: string;
  pod: string;
  uid: string;
}

/** What the name of a log file says. */
export interface LogFileName {
  name: string;
  /** How often the container was restarted before: the number that the name begins with. */
  restart: number;
  /** What follows `.log.`; empty for the file that is being written. */
  rotation: string;
  isGzip: boolean;
}

const podForm = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)_([a-z0-9][a-z0-9.-]{0,252})_([A-Za-z0-9-]{1,64})$/;
const containerForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const fileForm = /^(\d{1,9})\.log(?:\.([0-9][0-9T-]{0,31}))?(\.gz)?$/;

/** Parses `<namespace>_<pod>_<uid>`; undefined for any other name. */
export function parsePodFolder(name: string): PodName | undefined {
  const [, namespace, pod, uid] = podForm.exec(name) ?? [];
  return namespace === undefined ? undefined : { namespace, pod: pod!, uid: uid! };
}

export function isContainerName(name: string): boolean {
  return containerForm.test(name);
}

/** Parses `<n>.log`, `<n>.log.<time>` and `<n>.log.<time>.gz`; undefined for any other name, such as a `.tmp`. */
export function parseLogFileName(name: string): LogFileName | undefined {
  const [, restart, rotation = "", gzip] = fileForm.exec(name) ?? [];
  if (restart === undefined) return undefined;
  return { name, restart: Number(restart), rotation, isGzip: gzip !== undefined };
}

/** Orders files by the time they were written in: rotated ones before the one that is being written. */
export function compareLogFiles(a: LogFileName, b: LogFileName): number {
  if (a.restart !== b.restart) return a.restart - b.restart;
  if (a.rotation === b.rotation) return 0;
  if (a.rotation === "" || b.rotation === "") return a.rotation === "" ? 1 : -1;
  // The kubelet appends a time. logrotate appends numbers, the newest file has 1.
  if (a.rotation.length <= 3 && b.rotation.length <= 3) return Number(b.rotation) - Number(a.rotation);
  return a.rotation < b.rotation ? -1 : 1;
}
