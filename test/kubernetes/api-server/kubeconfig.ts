/** Kubeconfig files. */
import { stringify } from "yaml";

/** The text of a kubeconfig file with one cluster, one user with a token, and one context. */
export function makeKubeconfig(of: { url: string; caPem: string; token: string; namespace: string }): string {
  const authority =
    of.caPem === "" ? {} : { "certificate-authority-data": Buffer.from(of.caPem).toString("base64") };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: of.url, ...authority } }],
    users: [{ name: "test", user: { token: of.token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace: of.namespace } }],
    "current-context": "test",
  });
}
