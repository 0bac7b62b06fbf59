/** Reads Secrets of the cluster for deliveries. Only those that a webhook of the same namespace names. */

import type { ApiClient } from "../cluster/api-client.ts";
import { ApiError } from "../cluster/api-error.ts";
import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import type { WantedSecret } from "./hub-client.ts";

interface Reference {
  secretKeyRef?: { name?: unknown; key?: unknown };
}

export class SecretReader {
  readonly #client: Pick<ApiClient, "send">;
  /** The Secrets that each webhook of the cluster names. */
  readonly #named = new Map<string, Set<string>>();

  constructor(client: Pick<ApiClient, "send">) {
    this.#client = client;
  }

  /** Takes all webhooks of the cluster. */
  listed(webhooks: readonly KubernetesObject[]): void {
    this.#named.clear();
    for (const webhook of webhooks) this.changed(webhook);
  }

  changed({ metadata: { namespace = "", name }, spec }: KubernetesObject): void {
    const { headersFrom, bodyFrom } = (spec ?? {}) as { headersFrom?: object; bodyFrom?: unknown };
    const references = [...Object.values(headersFrom ?? {}), bodyFrom] as (Reference | undefined)[];
    const names = references.flatMap((reference) =>
      reference?.secretKeyRef === undefined ? [] : [keyOf(namespace, reference.secretKeyRef)],
    );
    this.#named.set(`${namespace}/${name}`, new Set(names));
  }

  deleted({ metadata: { namespace = "", name } }: KubernetesObject): void {
    this.#named.delete(`${namespace}/${name}`);
  }

  /** The value of a Secret's key. Throws an Error for people. */
  async read({ namespace, name, key }: WantedSecret): Promise<string> {
    const wanted = keyOf(namespace, { name, key });
    const isNamed = [...this.#named].some(
      ([webhook, names]) => webhook.startsWith(`${namespace}/`) && names.has(wanted),
    );
    if (!isNamed) throw new Error(`no SvcWebhook of ${namespace} names the key ${key} of the Secret ${name}`);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
    let data: Record<string, string> | undefined;
    try {
      ({ data } = await this.#client.send<{ data?: Record<string, string> }>(path));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const reason =
        error.status === 404
          ? "does not exist"
          : error.status === 403
            ? "may not be read by the exporter: its role needs get on secrets (secretRefs.enabled)"
            : "cannot be read now";
      throw new Error(`the Secret ${name} in ${namespace} ${reason}`);
    }
    if (data === undefined || !Object.hasOwn(data, key))
      throw new Error(`the Secret ${name} in ${namespace} has no key ${key}`);
    return Buffer.from(data[key]!, "base64").toString();
  }
}

function keyOf(namespace: string, { name, key }: { name?: unknown; key?: unknown }): string {
  return JSON.stringify([namespace, name, key]);
}
