/** Runs kubectl, where it is installed. */
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";

const oldestMinor = 29;

/** Why kubectl cannot be run here; undefined where it can. */
export function findReasonToSkip(): string | undefined {
  try {
    const text = execFileSync("kubectl", ["version", "--client", "-o", "json"], {
      encoding: "utf8",
      // The version must not be that of a server that the machine knows.
      env: { ...process.env, KUBECONFIG: "/dev/null" },
    });
    const { clientVersion } = JSON.parse(text) as { clientVersion: { minor: string } };
    const minor = Number.parseInt(clientVersion.minor, 10);
    return minor < oldestMinor ? `kubectl is 1.${minor}, older than 1.${oldestMinor}` : undefined;
  } catch {
    return "kubectl is not installed";
  }
}

interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs kubectl with the file `kubeconfig` of a folder, in which it keeps its cache too. */
export function runKubectl(folder: string, args: readonly string[], input = ""): Promise<KubectlResult> {
  const env = { ...process.env, KUBECONFIG: join(folder, "kubeconfig"), HOME: folder };
  return new Promise((resolve) => {
    const child = execFile("kubectl", args, { env, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
    });
    child.stdin!.end(input);
  });
}
