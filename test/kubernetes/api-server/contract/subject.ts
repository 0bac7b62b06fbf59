/** The server that a run of the contract is about, with a namespace and a definition of the run's own. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { ApiClient } from "../client.ts";
import type { KubernetesObject } from "../objects.ts";
import { sampleDefinition, sampleVersion } from "../sample.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A server that is there, however it came up. */
export interface RunningServer {
  kubeconfig(): string;
  stop(): Promise<void>;
}

export class ContractSubject {
  readonly namespace = `contract-${randomBytes(4).toString("hex")}`;
  readonly samples = `/apis/${sampleVersion}/namespaces/${this.namespace}/samples`;
  readonly core = `/api/v1/namespaces/${this.namespace}`;
  #server: RunningServer | undefined;
  #client: ApiClient | undefined;

  get client(): ApiClient {
    return this.#client!;
  }

  async start(server: RunningServer): Promise<void> {
    this.#server = server;
    this.#client = new ApiClient(server.kubeconfig());
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: this.namespace } };
    expect((await this.client.send("POST", "/api/v1/namespaces", namespace)).code).toBe(201);
    await this.client.send("POST", definitions, sampleDefinition);
    for (let i = 0; i < 200 && (await this.client.get(this.samples)).code !== 200; i++) await sleep(100);
  }

  async stop(): Promise<void> {
    await this.client.send("DELETE", `/api/v1/namespaces/${this.namespace}`);
    await this.client.send("DELETE", `${definitions}/${sampleDefinition.metadata.name}`);
    this.client.close();
    await this.#server!.stop();
  }

  async create(object: KubernetesObject): Promise<KubernetesObject> {
    const { code, body } = await this.client.send("POST", this.samples, object);
    expect([code, body.kind], JSON.stringify(body)).toEqual([201, "Sample"]);
    return body as unknown as KubernetesObject;
  }

  async read(name: string): Promise<KubernetesObject> {
    return (await this.client.get(`${this.samples}/${name}`)).body as unknown as KubernetesObject;
  }
}
