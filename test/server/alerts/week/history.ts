/** Goes through what was done in the week, and asks the model what should have come of it. */
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Inhibition, NotificationRoute } from "../../../../server/model/notification-route.ts";
import { tellAgain } from "./again.ts";
import { isInhibited, receiversOf } from "./holds.ts";
import { ModelAlert, type ModelFire, type Surroundings } from "./model.ts";
import { type Death, type Deed, type Look, mayBeSilenced, minute, queryMsMax } from "./plan.ts";
import type { WeekPoints } from "./series.ts";
import { type Judged, ModelWatch } from "./watch.ts";
import { ModelWindow } from "./window.ts";

/** A key for labels: they are few and stand in one order here. */
export function labelsKey(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(labels);
}

export class ModelWeek {
  /** Also those that have gone. */
  readonly all: ModelAlert[] = [];
  readonly #points: WeekPoints;
  readonly #toldMs: (fire: ModelFire) => number;
  readonly #behindMs: ReadonlyMap<string, number>;
  readonly #alerts = new Map<string, ModelAlert>();
  /** By what is asked. */
  readonly #windows = new Map<string, ModelWindow>();
  readonly #configured = new Map<string, AlertDefinition>();
  readonly #failing = new Map<string, "error" | "hang">();
  readonly #watch = new ModelWatch();
  readonly #holds = {
    routes: new Map<string, NotificationRoute>(),
    inhibitions: new Map<string, Inhibition>(),
  };
  /** What came of the last evaluation since the start, by what is asked. */
  readonly #outcomes = new Map<string, "failed" | "judged">();
  /** Queries that hang, and when each is given up. */
  #hanging: { key: string; untilMs: number }[] = [];
  readonly #silences = new Set<string>();
  readonly #gaps: [fromMs: number, toMs: number][] = [];
  #nowMs: number;
  #isUp = true;
  /** At a start: what the process before had stored of each alert, by the alert's id. */
  #storedThroughMs: ReadonlyMap<string, number> | null = null;
  /** The last time at which the server said that it was alive; null: it does. */
  #silentSinceMs: number | null = null;
  #diskIsFull = false;
  /** Until then the clock was before: what was due is not due again. */
  #seenMs = Number.NEGATIVE_INFINITY;

  /** `toldMs`: when people were told of a fire, infinite where they were not. */
  constructor(
    points: WeekPoints,
    behindMs: ReadonlyMap<string, number>,
    toldMs: (fire: ModelFire) => number,
    beginMs: number,
  ) {
    this.#toldMs = toldMs;
    this.#points = points;
    this.#behindMs = behindMs;
    this.#nowMs = beginMs;
  }

  get(id: string): ModelAlert {
    return this.#alerts.get(id)!;
  }

  advance({ atMs, deed }: { atMs: number; deed: Deed | Death | Look }): void {
    this.#pass(atMs);
    switch (deed.do) {
      case "save":
        this.#configured.set(deed.alert.metadata.id, deed.alert);
        if (this.#isUp) this.#adopt(deed.alert);
        break;
      case "remove":
        this.#configured.delete(deed.id);
        if (this.#isUp) this.#drop(deed.id);
        break;
      case "fail":
        this.#failing.set(deed.query, deed.how);
        break;
      case "mend queries":
        this.#failing.clear();
        break;
      case "fill the disk":
        this.#diskIsFull = true;
        break;
      case "free the disk":
        this.#diskIsFull = false;
        break;
      case "silence":
        this.#silences.add(deed.name);
        break;
      case "unsilence":
        this.#silences.delete(deed.name);
        break;
      case "route":
        if (deed.route === undefined) this.#holds.routes.delete(deed.id);
        else this.#holds.routes.set(deed.id, deed.route);
        break;
      case "inhibit":
        if (deed.inhibition === undefined) this.#holds.inhibitions.delete(deed.id);
        else this.#holds.inhibitions.set(deed.id, deed.inhibition);
        break;
      case "fell silent":
        this.#fallSilent(deed);
        break;
      case "start":
        this.#start();
        this.#storedThroughMs = null;
        break;
      case "set the clock":
        this.#setClock(deed.toMs);
        break;
      case "looked":
        if (deed.isStored) this.#watch.look(this.#judged(), this.#holds, atMs);
        for (const alert of this.#alerts.values()) {
          const isHeld = (fire: ModelFire) => this.#isHeld(alert, fire, Number.NaN);
          tellAgain(
            alert,
            atMs,
            isHeld,
            this.#holds,
            deed.storedOnly?.has(alert.alert.metadata.id) !== false,
          );
        }
        // What is due in the same moment is evaluated after the look.
        this.#nowMs = atMs - 1;
    }
  }

  *#judged(): Generator<readonly [ModelAlert, Judged]> {
    for (const alert of this.#alerts.values()) {
      const outcome = this.#outcomes.get(keyOf(alert));
      if (outcome === undefined) yield [alert, "unknown"];
      else yield [alert, outcome === "failed" || alert.hasNoData ? "no" : "yes"];
    }
  }

  /** Where the order within one moment would decide, it was as it was seen to be. */
  #isHeld(alert: ModelAlert, fire: ModelFire, nowMs: number): boolean {
    if (this.#isSilenced(alert, fire.labels)) return true;
    const answer = isInhibited(fire, [...this.all], this.#holds, nowMs);
    return answer === "yes" || (answer === "unclear" && this.#toldMs(fire) > nowMs);
  }

  #isSilenced({ alert }: ModelAlert, labels: string): boolean {
    const isCovered = [...this.#silences].some((name) => labels === labelsKey({ name }));
    return isCovered && mayBeSilenced(alert.metadata.id);
  }

  /** How long the server was away within a time. What the clock jumps over may be jumped over twice. */
  #downMs(fromMs: number, toMs: number): number {
    let ms = 0;
    let seenMs = fromMs;
    for (const [from, to] of this.#gaps.toSorted(([a], [b]) => a - b)) {
      ms += Math.max(0, Math.min(to, toMs) - Math.max(from, seenMs));
      seenMs = Math.max(seenMs, to);
    }
    return ms;
  }

  #fallSilent({ aliveMs, storedThroughMs }: Death): void {
    this.#isUp = false;
    this.#silentSinceMs = aliveMs;
    this.#storedThroughMs = storedThroughMs;
    this.#outcomes.clear();
    this.#hanging = [];
    for (const alert of this.#alerts.values()) alert.hasError = false;
  }

  #start(): void {
    if (this.#silentSinceMs! < this.#nowMs) this.#gaps.push([this.#silentSinceMs!, this.#nowMs]);
    this.#silentSinceMs = null;
    this.#isUp = true;
    this.#seenMs = this.#nowMs;
    for (const id of this.#alerts.keys()) if (!this.#configured.has(id)) this.#drop(id);
    for (const alert of this.#configured.values()) this.#take(alert);
    for (const alert of this.#alerts.values()) for (const fire of alert.openFires()) fire.heldMs = null;
    this.#evaluateAll();
  }

  /** Forward it is as though the server had been away; back, by little, the time is lived again and nothing is due; by much, all begins anew. */
  #setClock(toMs: number): void {
    const fromMs = this.#nowMs;
    this.#nowMs = toMs;
    if (toMs - fromMs > minute) this.#gaps.push([fromMs, toMs]);
    this.#seenMs = fromMs - toMs < 10 * minute ? Math.max(fromMs, toMs) : toMs;
    if (toMs > fromMs || this.#seenMs === toMs) this.#evaluateAll();
  }

  #adopt(alert: AlertDefinition): void {
    // Whoever asks the same is looked at, too.
    const key = keyOf(this.#take(alert));
    this.#evaluate([this.#groups().get(key)!]);
  }

  #take(alert: AlertDefinition): ModelAlert {
    const { id } = alert.metadata;
    let taken = this.#alerts.get(id);
    if (taken === undefined) {
      taken = new ModelAlert(alert);
      this.#alerts.set(id, taken);
      this.all.push(taken);
    } else taken.save(alert, this.#nowMs);
    return taken;
  }

  #drop(id: string): void {
    this.#alerts.get(id)!.end("deleted", this.#nowMs);
    this.#alerts.delete(id);
  }

  /** Every minute each query is asked once. */
  #pass(untilMs: number): void {
    const firstMs = Math.floor(this.#nowMs / minute) * minute - minute;
    const due = new Map<number, ModelAlert[][]>();
    for (let gridMs = firstMs; this.#isUp && gridMs < untilMs; gridMs += minute) {
      for (const alerts of this.#groups().values()) {
        const dueMs = gridMs + this.#behindMs.get(alerts[0]!.query)!;
        if (dueMs <= Math.max(this.#nowMs, this.#seenMs) || dueMs >= untilMs) continue;
        due.set(dueMs, [...(due.get(dueMs) ?? []), alerts]);
      }
    }
    for (const [dueMs, groups] of [...due].sort(([a], [b]) => a - b)) this.#evaluate(groups, dueMs);
    for (const { key, untilMs: failsMs } of this.#hanging) {
      if (failsMs < untilMs) this.#fail(key);
    }
    this.#hanging = this.#hanging.filter((each) => each.untilMs >= untilMs);
    this.#nowMs = untilMs;
  }

  #fail(key: string): void {
    const alerts = this.#groups().get(key) ?? [];
    for (const alert of alerts) alert.hasError = true;
    if (alerts.length > 0) this.#outcomes.set(key, "failed");
  }

  #evaluateAll(): void {
    this.#evaluate([...this.#groups().values()]);
  }

  /** Alerts that ask the same; a window that nobody looks at any more is gone. */
  #groups(): Map<string, ModelAlert[]> {
    const groups = Map.groupBy(this.#alerts.values(), keyOf);
    for (const key of this.#windows.keys()) {
      if (groups.has(key)) continue;
      this.#windows.delete(key);
      this.#outcomes.delete(key);
    }
    return groups;
  }

  /** All that is due in one moment; then people are told what has come of it. */
  #evaluate(groups: readonly ModelAlert[][], nowMs = this.#nowMs): void {
    const judged = groups.map((alerts) => [alerts, this.#judge(alerts, nowMs)] as const);
    for (const [alerts, around] of judged) {
      if (around !== null) for (const alert of alerts) alert.tell(around);
    }
  }

  #judge(alerts: readonly ModelAlert[], nowMs: number): Surroundings | null {
    const [{ query }] = alerts as [ModelAlert];
    const key = keyOf(alerts[0]!);
    const window = this.#windows.get(key) ?? new ModelWindow();
    this.#windows.set(key, window);
    const around: Surroundings = {
      nowMs,
      behindMs: this.#behindMs.get(query)!,
      series: this.#points.of.get(query)!.map((series) => ({
        labels: labelsKey(series.labels),
        valueAt: (bucketMs) => this.#points.seenAt(series, bucketMs, nowMs),
      })),
      isPlain: query.startsWith("plain"),
      isLost: (ms, widthMs) => this.#downMs(ms, ms + widthMs) > widthMs / 20,
      isHeld: (alert, fire) => this.#isHeld(alert, fire, nowMs),
      receivers: (fire, own) => receiversOf(fire, own, this.#holds),
      queryFails: this.#failing.has(query),
      diskIsFull: this.#diskIsFull,
    };
    const lackRules = alerts.some((alert) => alert.lacksRules(window));
    const outcome = window.evaluate(alerts, around);
    const hangs = outcome === "failed" && this.#failing.get(query) === "hang";
    if (hangs) this.#hanging.push({ key, untilMs: nowMs + queryMsMax });
    else if (outcome === "failed") this.#fail(key);
    else if (outcome === "judged" && (lackRules || !this.#wasStored(alerts, window, around)))
      this.#outcomes.set(key, outcome);
    return outcome === "judged" ? around : null;
  }

  /** At a start: the process before died when this evaluation was stored. Nothing is asked, unless a fire is still held. */
  #wasStored(alerts: readonly ModelAlert[], { throughMs }: ModelWindow, around: Surroundings): boolean {
    const storedMs = this.#storedThroughMs?.get(alerts[0]!.alert.metadata.id) ?? Number.NEGATIVE_INFINITY;
    return storedMs >= throughMs! && !alerts.some((alert) => alert.isPending(around));
  }
}

function keyOf({ query, bucketSize }: ModelAlert): string {
  return `${bucketSize} ${query}`;
}
