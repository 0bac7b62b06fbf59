/** How an API server is reached: from inside a cluster, or as a kubeconfig file says. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

export interface ConnectionSettings {
  /** `https://HOST:PORT`, possibly with a path. */
  server: string;
  /** Reads the authorities in PEM; undefined for those of the system. Read anew for each connection. */
  ca: () => string | undefined;
  /** Reads the bearer token; undefined where a certificate authenticates. */
  token: () => string | undefined;
  /** PEM. */
  certificate?: string;
  key?: string;
  /** True where the server's certificate is not checked. */
  isInsecure: boolean;
  /** The namespace that the process runs in. */
  namespace: string;
}

const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The settings of a pod. Throws an Error for people where the process is in no pod. */
export function readPodSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  dir: string = serviceAccountDir,
): ConnectionSettings {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === undefined)
    throw new Error("this is no pod of a cluster: give --kubeconfig FILE, or run it in a cluster");
  const read = (name: string) => readFileSync(resolve(dir, name), "utf8").trim();
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: () => read("ca.crt"),
    token: () => read("token"),
    isInsecure: false,
    namespace: read("namespace"),
  };
}

const text = z.string().optional();
const kubeconfig = z.looseObject({
  "current-context": z.string(),
  contexts: z.array(
    z.looseObject({
      name: z.string(),
      context: z.looseObject({ cluster: z.string(), user: z.string(), namespace: text }),
    }),
  ),
  clusters: z.array(
    z.looseObject({
      name: z.string(),
      cluster: z.looseObject({
        server: z.string(),
        "certificate-authority": text,
        "certificate-authority-data": text,
        "insecure-skip-tls-verify": z.boolean().optional(),
      }),
    }),
  ),
  users: z.array(
    z.looseObject({
      name: z.string(),
      user: z.looseObject({
        token: text,
        tokenFile: text,
        "client-certificate": text,
        "client-certificate-data": text,
        "client-key": text,
        "client-key-data": text,
      }),
    }),
  ),
});

/**
 * The settings of a kubeconfig file's current context: a token or a client certificate. Programs that fetch
 * credentials (`exec`) are not run. Throws an Error for people.
 */
export function readKubeconfig(path: string): ConnectionSettings {
  const read = kubeconfig.safeParse(parse(readFileSync(path, "utf8")));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${path}: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { contexts, clusters, users, "current-context": current } = read.data;
  const find = <T extends { name: string }>(what: string, list: readonly T[], name: string): T => {
    const found = list.find((each) => each.name === name);
    if (found === undefined) throw new Error(`${path} has no ${what} with the name ${JSON.stringify(name)}`);
    return found;
  };
  const { context } = find("context", contexts, current);
  const { cluster } = find("cluster", clusters, context.cluster);
  const { user } = find("user", users, context.user);
  const pick = (data: string | undefined, file: string | undefined): (() => string | undefined) => {
    if (data !== undefined) return () => Buffer.from(data, "base64").toString();
    return () => (file === undefined ? undefined : readFileSync(resolve(dirname(path), file), "utf8"));
  };
  const certificate = pick(user["client-certificate-data"], user["client-certificate"])();
  const key = pick(user["client-key-data"], user["client-key"])();
  const { token, tokenFile } = user;
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ca: pick(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    token: token === undefined ? () => pick(undefined, tokenFile)()?.trim() : () => token,
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
    isInsecure: cluster["insecure-skip-tls-verify"] === true,
    namespace: context.namespace ?? "default",
  };
}

/**
 * The settings of a node's kubelet, which takes the token that the API server takes. Its certificate is checked against
 * the authority in `caFile`, or that of the cluster.
 */
export function readKubeletSettings(
  server: string,
  connection: ConnectionSettings,
  { caFile, isInsecure }: { caFile: string | undefined; isInsecure: boolean },
): ConnectionSettings {
  const ca = caFile === undefined ? connection.ca : () => readFileSync(caFile, "utf8");
  return { ...connection, server, ca, isInsecure };
}
