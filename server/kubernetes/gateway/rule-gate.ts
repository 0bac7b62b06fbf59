/** The rules in force. Until the first ones arrive, bodies are held: excluded telemetry must not leave the cluster. */

import type { ExclusionRule } from "../../model/exclusion.ts";
import { heldBytesMax, holdMsMax } from "./limits.ts";
import { makeRuleSet, type RejectedRule, RuleSet } from "./rule-set.ts";

export class RuleGate {
  readonly #cluster: string;
  readonly #holdMs: number;
  readonly #onOpened: () => void;
  readonly #none: RuleSet;
  readonly #opened = Promise.withResolvers<void>();
  #rules: RuleSet | undefined;
  #isOpen = false;
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onOpened` is called where the time or the bytes were up before rules came. */
  constructor(cluster: string, onOpened: () => void, holdMs = holdMsMax) {
    this.#cluster = cluster;
    this.#holdMs = holdMs;
    this.#onOpened = onOpened;
    this.#none = new RuleSet([], cluster);
  }

  get hasRules(): boolean {
    return this.#rules !== undefined;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The time begins to run out. */
  run(): void {
    if (this.#isOpen) return;
    this.#timer = setTimeout(() => this.#openWithoutRules(), this.#holdMs);
    this.#timer.unref();
  }

  /** Replaces all rules at once: a body is filtered by the old ones or by the new ones. */
  setRules(sent: readonly ExclusionRule[]): RejectedRule[] {
    const { rules, rejected } = makeRuleSet(sent, this.#rules, this.#cluster);
    this.#rules = rules;
    this.#open();
    return rejected;
  }

  /** The rules for a body of so many bytes; waits for the first ones. */
  async rules(bytes: number): Promise<RuleSet> {
    if (!this.#isOpen && this.#heldBytes + bytes > heldBytesMax) this.#openWithoutRules();
    if (!this.#isOpen) {
      this.#heldBytes += bytes;
      await this.#opened.promise;
      this.#heldBytes -= bytes;
    }
    return this.#rules ?? this.#none;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#open();
  }

  #openWithoutRules(): void {
    if (this.#isOpen) return;
    this.#onOpened();
    this.#open();
  }

  #open(): void {
    clearTimeout(this.#timer);
    this.#isOpen = true;
    this.#opened.resolve();
  }
}
