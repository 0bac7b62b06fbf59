/** `node api-server-process.ts FILE`: the API server in a process of its own, with svc's kinds. Writes FILE, a kubeconfig. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { startApiServer } from "./api-server.ts";
import type { KubernetesObject } from "./objects.ts";

const [file] = process.argv.slice(2) as [string];
const crds = join(import.meta.dirname, "../../../server/kubernetes/charts/manifests/crds");
const api = await startApiServer({ tls: false, token: "benchmark" });
for (const name of readdirSync(crds).filter((each) => each !== "kustomization.yaml"))
  api.create(parse(readFileSync(join(crds, name), "utf8")) as KubernetesObject);
writeFileSync(file, api.kubeconfig());
console.log(api.url);
