/** Polls the hub for what it wants of the cluster, and brings the answers with the next poll. */

import { randomUUID } from "node:crypto";
import { pause } from "../cluster/pause.ts";
import {
  type FoundSecret,
  type HubClient,
  HubError,
  type PollAnswer,
  type WantedSecret,
} from "./hub-client.ts";
import { retryMsMax, retryMsMin } from "./limits.ts";

export interface HubChannelOptions {
  hub: Pick<HubClient, "poll">;
  /** Reads a Secret of the cluster; undefined where the exporter may not. Throws an Error for people. */
  readSecret: ((secret: WantedSecret) => Promise<string>) | undefined;
  /** Called when the hub asks for a synchronisation. */
  onSynchronise: () => void;
  /** Called with each revision of the cluster's ingestion rules that differs from the last one. */
  onRules: (revision: string) => void;
  random: () => number;
  log: (message: string) => void;
}

export class HubChannel {
  readonly #options: HubChannelOptions;
  /** Tells the hub that this is another exporter than before. */
  readonly #exporter = randomUUID();
  readonly #ending = new AbortController();
  #secrets: FoundSecret[] = [];
  #synchronisations = 0;
  #rulesRevision: string | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: HubChannelOptions) {
    this.#options = options;
  }

  run(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    let retryMs = 0;
    while (!this.#ending.signal.aborted) {
      try {
        await this.#poll();
        retryMs = 0;
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (!(error instanceof HubError)) throw error;
        if (retryMs === 0) this.#options.log(error.message);
        retryMs = Math.min(retryMsMax, Math.max(retryMsMin, retryMs * 2));
        const pauseMs = Math.max(error.retryAfterMs ?? 0, retryMs * (0.5 + this.#options.random() / 2));
        await pause(pauseMs, this.#ending.signal);
      }
    }
  }

  async #poll(): Promise<void> {
    const { hub, readSecret } = this.#options;
    const secrets = this.#secrets;
    const answer = await hub.poll(
      {
        exporter: this.#exporter,
        secretRefs: readSecret !== undefined,
        synchronisations: this.#synchronisations,
        rulesRevision: this.#rulesRevision ?? "",
        secrets,
      },
      this.#ending.signal,
    );
    this.#secrets = [];
    this.#notice(answer);
    this.#secrets = await Promise.all(answer.secrets.map((secret) => this.#find(secret)));
  }

  #notice({ synchronisations, rulesRevision }: PollAnswer): void {
    if (synchronisations > this.#synchronisations) this.#options.onSynchronise();
    this.#synchronisations = synchronisations;
    if (rulesRevision !== this.#rulesRevision) this.#options.onRules(rulesRevision);
    this.#rulesRevision = rulesRevision;
  }

  async #find(secret: WantedSecret): Promise<FoundSecret> {
    const { readSecret } = this.#options;
    try {
      if (readSecret === undefined) throw new Error("the exporter may not read Secrets");
      return { id: secret.id, value: await readSecret(secret) };
    } catch (error) {
      return { id: secret.id, problem: (error as Error).message.slice(0, 500) };
    }
  }
}
