/** A hub in memory, for tests of what exporters send. */

import { vi } from "vitest";
import { parseJsonBody } from "../../../server/api/json-body.ts";
import { jsonBodyBytesMax } from "../../../server/api/limits.ts";
import type { ServerRequest } from "../../../server/api/route.ts";
import {
  type AppliedObject,
  type DesiredObject,
  HubError,
  type NameRange,
  type ObjectKey,
} from "../../../server/kubernetes/exporter/hub-client.ts";
import type { ObjectSync } from "../../../server/kubernetes/exporter/object-sync.ts";
import { keptNamesMax } from "../../../server/kubernetes/hub/limits.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";

export const keyText = ({ kind, namespace = "", name }: ObjectKey) => `${kind}/${namespace}/${name}`;
export const isBad = (spec: unknown) => (spec as { isBad?: boolean }).isBad === true;

/** A hub that keeps what it is sent, and fails as it is told to. */
export class ModelHub {
  readonly objects = new Map<string, unknown>();
  requests = 0;
  delayMs: () => number = () => 0;
  /** Chooses how the next request fails: not at all, before it is carried out, or after it. */
  fate: () => "none" | "before" | "after" | "refused" = () => "none";
  /** Says which objects it cannot take now. */
  isTooMuch: (object: DesiredObject) => boolean = () => false;

  async apply(objects: readonly DesiredObject[]): Promise<AppliedObject[]> {
    return this.#carryOut(() =>
      objects.map((object) => {
        const { kind, metadata, spec } = object;
        const { namespace = "", name, uid } = metadata;
        const key = keyText({ kind, namespace, name });
        const isTemporary = this.isTooMuch(object);
        if (!isTemporary && !isBad(spec)) this.objects.set(key, spec);
        const reason = isTemporary ? "QuotaExceeded" : isBad(spec) ? "InvalidSpec" : "Synced";
        return { kind, namespace, name, uid, id: `id of ${key}`, reason, isTemporary, message: "" };
      }),
    );
  }

  async remove(keys: readonly ObjectKey[]): Promise<void> {
    await this.#carryOut(() => {
      for (const key of keys) this.objects.delete(keyText(key));
    });
  }

  async sweep(kind: string, kept: readonly Omit<ObjectKey, "kind">[], range: NameRange): Promise<number> {
    return this.#carryOut(() => {
      const names = new Set(kept.map((key) => keyText({ kind, ...key })));
      const after = `${kind}/${range.after ?? ""}`;
      const upTo = range.upTo === undefined ? undefined : `${kind}/${range.upTo}`;
      const gone = [...this.objects.keys()].filter((key) => {
        const isInRange = key > after && (upTo === undefined || key <= upTo);
        return key.startsWith(`${kind}/`) && isInRange && !names.has(key);
      });
      for (const key of gone) this.objects.delete(key);
      return gone.length;
    });
  }

  async #carryOut<T>(work: () => T): Promise<T> {
    this.requests++;
    const fate = this.fate();
    // Objects change while a request is on its way.
    await new Promise((resolve) => setTimeout(resolve, this.delayMs()));
    if (fate === "before") throw new HubError("away", 0);
    if (fate === "refused") throw new HubError("busy", 503, 1_000);
    const result = work();
    if (fate === "after") throw new HubError("the answer was lost", 0);
    return result;
  }
}

/** A hub that looks at the body of a request as the real one does, before it looks at the objects. */
export class CheckingHub extends ModelHub {
  override async apply(objects: readonly DesiredObject[]): Promise<AppliedObject[]> {
    this.#check({ objects });
    return super.apply(objects);
  }

  override async sweep(
    kind: string,
    kept: readonly Omit<ObjectKey, "kind">[],
    range: NameRange,
  ): Promise<number> {
    this.#check({ kind, kept, ...range });
    if (kept.length > keptNamesMax) throw new HubError("the hub answered 400: kept is too long", 400);
    return super.sweep(kind, kept, range);
  }

  #check(body: unknown): void {
    try {
      checkBody(body);
    } catch (error) {
      this.requests++;
      throw error;
    }
  }
}

/** Throws what the hub's client throws where the hub refuses a body. */
function checkBody(sent: unknown): void {
  const body = Buffer.from(JSON.stringify(sent));
  if (body.length > jsonBodyBytesMax) throw new HubError("the hub answered 413: the body is too long", 413);
  try {
    parseJsonBody({ headers: new Map(), body } as unknown as ServerRequest);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new HubError(`the hub answered ${error.status}: ${error.message}`, error.status);
  }
}

/** Closes it; a request that is on its way is waited for. */
export async function closed(sync: ObjectSync): Promise<void> {
  const closing = sync.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await closing;
}
