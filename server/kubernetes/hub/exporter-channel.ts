/**
 * The channel between the hub and the exporters of clusters. Exporters open it, by polling: an answer to a poll says
 * what the hub wants of the cluster, and the next poll brings the answers. Values of Secrets pass through memory alone.
 */

import { randomUUID } from "node:crypto";
import type { SecretReference } from "../../model/webhook.ts";
import { tryLater } from "../../throttle/refusal.ts";
import { exporterAwayMs, pollMsMax, secretMsMax, secretsAskedMax } from "./limits.ts";

/** A Secret's key that the hub asks for. */
interface SecretRequest {
  id: string;
  namespace: string;
  name: string;
  key: string;
}

/** What an exporter found. */
interface SecretAnswer {
  id: string;
  value?: string | undefined;
  /** Why there is no value, for people. */
  problem?: string | undefined;
}

/** What an exporter says of itself with each poll. */
export interface ExporterPoll {
  /** Made at the exporter's start. */
  exporter: string;
  /** Whether it may read Secrets. */
  secretRefs: boolean;
  secrets: readonly SecretAnswer[];
  /** How many synchronisations it has begun at the hub's request. */
  synchronisations: number;
  /** Revision of the ingestion rules that it has; where it is left out, it is told of later ones alone. */
  rulesRevision?: string | undefined;
}

/** What the hub wants. */
export interface ChannelWishes {
  secrets: SecretRequest[];
  /** Counts the synchronisations that were ever asked for: where it has grown, the exporter begins one. */
  synchronisations: number;
  /** Changes with the ingestion rules of the cluster. */
  rulesRevision: string;
}

/** The value of a Secret, or why there is none now. */
export type SecretValue = { value: string } | { problem: string };

interface AskedSecret {
  request: SecretRequest;
  isSent: boolean;
  resolve: (value: SecretValue) => void;
}

/** The exporter of one cluster, as far as it is known. */
interface ClusterChannel {
  exporter: string;
  secretRefs: boolean;
  polledAtMs: number;
  synchronisations: number;
  readonly asked: Map<string, AskedSecret>;
  /** Ends the poll that waits. */
  wake: () => void;
}

export interface ExporterChannelOptions {
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  rulesRevisionOf: (cluster: string) => string;
}

export class ExporterChannel {
  readonly #options: ExporterChannelOptions;
  readonly #clusters = new Map<string, ClusterChannel>();
  #isClosed = false;

  constructor(options: ExporterChannelOptions) {
    this.#options = options;
  }

  /** Takes an exporter's answers, and waits until there is something to say to it, or for `pollMsMax`. */
  async poll(cluster: string, poll: ExporterPoll, signal: AbortSignal): Promise<ChannelWishes> {
    if (this.#isClosed) throw tryLater("the server stops", 1);
    const channel = this.#channelOf(cluster, poll);
    for (const answer of poll.secrets) takeAnswer(channel, answer);
    const { rulesRevision = this.#options.rulesRevisionOf(cluster) } = poll;
    const hasNews = () =>
      this.#isClosed ||
      channel.synchronisations > poll.synchronisations ||
      [...channel.asked.values()].some(({ isSent }) => !isSent) ||
      this.#options.rulesRevisionOf(cluster) !== rulesRevision;
    if (!hasNews()) await this.#waitForNews(channel, signal);
    channel.polledAtMs = this.#options.elapsed();
    const secrets: SecretRequest[] = [];
    for (const asked of channel.asked.values()) {
      if (asked.isSent) continue;
      asked.isSent = true;
      secrets.push(asked.request);
    }
    return {
      secrets,
      synchronisations: channel.synchronisations,
      rulesRevision: this.#options.rulesRevisionOf(cluster),
    };
  }

  /** Asks the exporter of a cluster for a Secret. Resolves within `secretMsMax`. */
  async secret(cluster: string, namespace: string, { secretKeyRef }: SecretReference): Promise<SecretValue> {
    const channel = this.#clusters.get(cluster);
    if (channel === undefined || this.#isAway(channel))
      return { problem: `the exporter of the cluster ${cluster} is away: the Secret cannot be read now` };
    if (!channel.secretRefs)
      return {
        problem: `the exporter of the cluster ${cluster} may not read Secrets: set secretRefs.enabled in its chart`,
      };
    if (channel.asked.size >= secretsAskedMax)
      return { problem: `too many Secrets are being read in the cluster ${cluster}` };
    const request = { id: randomUUID(), namespace, ...secretKeyRef };
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        channel.asked.delete(request.id);
        resolve({ problem: `the exporter of the cluster ${cluster} did not answer in time` });
      }, secretMsMax);
      const end = (value: SecretValue) => {
        clearTimeout(timer);
        resolve(value);
      };
      channel.asked.set(request.id, { request, isSent: false, resolve: end });
      channel.wake();
    });
  }

  /** Asks every exporter that is there to synchronise now; returns the names of their clusters. */
  synchronise(): string[] {
    const present = [...this.#clusters].filter(([, channel]) => !this.#isAway(channel));
    for (const [, channel] of present) {
      channel.synchronisations++;
      channel.wake();
    }
    return present.map(([cluster]) => cluster).sort();
  }

  /** Wakes all polls, because ingestion rules may have changed. */
  wakeAll(): void {
    for (const channel of this.#clusters.values()) channel.wake();
  }

  /** The clusters whose exporters have polled, and whether they are there now. */
  clusters(): { cluster: string; isPresent: boolean; secretRefs: boolean }[] {
    return [...this.#clusters].map(([cluster, channel]) => {
      return { cluster, isPresent: !this.#isAway(channel), secretRefs: channel.secretRefs };
    });
  }

  /** Ends all polls. */
  close(): void {
    this.#isClosed = true;
    this.wakeAll();
  }

  #channelOf(cluster: string, { exporter, secretRefs }: ExporterPoll): ClusterChannel {
    const polledAtMs = this.#options.elapsed();
    const known = this.#clusters.get(cluster);
    if (known !== undefined) {
      known.wake();
      // A new exporter has been asked for nothing yet.
      if (known.exporter !== exporter) {
        for (const asked of known.asked.values()) asked.isSent = false;
        known.synchronisations = 0;
      }
      return Object.assign(known, { exporter, secretRefs, polledAtMs });
    }
    const made: ClusterChannel = {
      ...{ exporter, secretRefs, polledAtMs, synchronisations: 0 },
      ...{ asked: new Map(), wake: () => undefined },
    };
    this.#clusters.set(cluster, made);
    return made;
  }

  #waitForNews(channel: ClusterChannel, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(), pollMsMax);
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      channel.wake = end;
    });
  }

  #isAway({ polledAtMs }: ClusterChannel): boolean {
    return this.#options.elapsed() - polledAtMs > exporterAwayMs;
  }
}

function takeAnswer(channel: ClusterChannel, { id, value, problem }: SecretAnswer): void {
  const asked = channel.asked.get(id);
  if (asked === undefined) return;
  channel.asked.delete(id);
  asked.resolve(value === undefined ? { problem: problem ?? "the Secret could not be read" } : { value });
}
