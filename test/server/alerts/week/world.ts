/** Lives through a plan in virtual time: the real evaluator and outbox, over points, a disk and receivers that do as they are told. */
import { expect, vi } from "vitest";
import { Evaluator } from "../../../../server/alerts/evaluator.ts";
import type { SeriesRequest } from "../../../../server/alerts/evaluator-options.ts";
import type { FireSubscriber } from "../../../../server/alerts/fire-subscriber.ts";
import { InvestigationRequests } from "../../../../server/alerts/investigation-requests.ts";
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Fire } from "../../../../server/alerts/state/fire.ts";
import type { ReadSeries } from "../../../../server/alerts/state/read-series.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import type { Action } from "../../../../server/model/alert.ts";
import type { AlertEvent } from "../../../../server/model/event.ts";
import type { Inhibition, NotificationRoute } from "../../../../server/model/notification-route.ts";
import { Outbox, type OutboxOptions } from "../../../../server/notify/outbox.ts";
import { findActions, findInhibition, type RoutedFire } from "../../../../server/notify/routing.ts";
import type { Delivery, Outcome } from "../../../../server/notify/senders/sender.ts";
import { Disk, type Fate, type Process } from "../disk.ts";
import {
  type Death,
  type Deed,
  type Look,
  type Mood,
  mayBeSilenced,
  minute,
  queryMsMax,
  type Step,
  second,
  weekStartMs,
} from "./plan.ts";
import { listOf, nameOf } from "./receivers.ts";
import { lookEveryMs, Rounds } from "./rounds.ts";
import type { WeekPoints } from "./series.ts";

const delayMs = 30 * second;

/** What reached a receiver. */
export interface Receipt {
  to: string;
  id: string;
  events: readonly AlertEvent[];
}

/** What could be seen of an alert from outside. */
export interface Sight {
  atMs: number;
  /** Deeds that were done before. */
  after: number;
  alerts: Map<string, { state: string; hasError: boolean; history: ReturnType<Evaluator["history"]> }>;
}

/** Why an outbox leaves out the begin and the end of a fire. */
const untoldReasons: ReadonlySet<string> = new Set([
  "it ended before anybody could be told",
  "its fire was never told",
]);

/** Turns in which all is done that is due at one moment: after a start, every query of a week. */
const roundsMax = 20;

export class WeekWorld {
  nowMs = weekStartMs;
  readonly disk = new Disk();
  /** What was done, and when; a death in a write stands where it came. */
  readonly journal: { atMs: number; deed: Deed | Death | Look }[] = [];
  readonly receipts: Receipt[] = [];
  /** What was given up, as it was said. */
  readonly givenUp: { to: string; event: AlertEvent }[] = [];
  /** Of fires that ended before anybody could be told: their begins and ends, by the ids of the notifications. */
  readonly untold = new Map<string, { to: string; event: AlertEvent }>();
  readonly sights: Sight[] = [];
  /** By the fire's id, as it was seen last. */
  readonly fires = new Map<string, ReturnType<Evaluator["fires"]>[number]>();
  readonly alerts = new Map<string, AlertDefinition>();
  /** How long after the end of a bucket each query is asked for it, as it was seen in the first minutes. */
  readonly behindMs = new Map<string, number>();
  readonly #points: WeekPoints;
  readonly #failing = new Map<string, "error" | "hang">();
  readonly #silences = new Map<string, { id: string; endsAtMs: number }>();
  readonly #routes = new Map<string, NotificationRoute>();
  readonly #inhibitions = new Map<string, Inhibition>();
  /** When people were told of a fire, as far as that was stored. */
  readonly toldMs = new Map<string, number>();
  readonly #moods = new Map<string, Mood>();
  readonly #everMade = new Set<string>();
  /** Of a write in which the process is to die. */
  #fate: Fate = "dies before";
  /** The last sign of life beside the disk. */
  #markMs = weekStartMs;
  #process: Process | null = null;
  #evaluator!: Evaluator;
  #outbox!: Outbox;
  #rounds!: Rounds;
  /** Time that has passed, whatever the clock says. */
  #elapsedMs = 0;
  /** When queries that hang are given up. */
  #hangsUntilMs: number[] = [];

  constructor(points: WeekPoints) {
    this.#points = points;
  }

  async live(steps: readonly Step[]): Promise<void> {
    await this.#start();
    for (const { atMs, deed } of steps) {
      await this.#runUntil(atMs);
      await this.#do(deed);
    }
  }

  /** Until nothing waits to be sent any more. */
  async drain(): Promise<void> {
    await this.#rounds.close();
    while (this.#outbox.nextDueMs() < Number.POSITIVE_INFINITY) {
      this.#pass(Math.max(1, this.#outbox.nextDueMs() - this.nowMs));
      void this.#outbox.sendDue();
      await this.#settle();
    }
  }

  notifications(): ReturnType<Outbox["list"]> {
    return this.#outbox.list();
  }

  async #do(deed: Deed): Promise<void> {
    // One that was to die in a write, and wrote too little.
    if (deed.do === "start" && this.#process !== null) this.#die();
    if (!["kill in a write", "stop", "kill"].includes(deed.do)) this.journal.push({ atMs: this.nowMs, deed });
    switch (deed.do) {
      case "save":
        this.alerts.set(deed.alert.metadata.id, deed.alert);
        this.#everMade.add(deed.alert.metadata.id);
        if (this.#process !== null) await this.#evaluator.upsert(deed.alert);
        break;
      case "remove":
        this.alerts.delete(deed.id);
        if (this.#process !== null) await this.#evaluator.remove(deed.id);
        break;
      case "fail":
        this.#failing.set(deed.query, deed.how);
        break;
      case "mend queries":
        this.#failing.clear();
        break;
      case "fill the disk":
      case "free the disk":
        this.disk.isFull = deed.do === "fill the disk";
        break;
      case "silence":
        this.#silences.set(deed.name, { id: deed.name, endsAtMs: Number.MAX_SAFE_INTEGER });
        break;
      case "unsilence":
        this.#silences.delete(deed.name);
        break;
      case "route":
        if (deed.route === undefined) this.#routes.delete(deed.id);
        else this.#routes.set(deed.id, deed.route);
        break;
      case "inhibit":
        if (deed.inhibition === undefined) this.#inhibitions.delete(deed.id);
        else this.#inhibitions.set(deed.id, deed.inhibition);
        break;
      case "spoil":
        this.#moods.set(deed.receiver, deed.mood);
        break;
      case "mend receivers":
        this.#moods.clear();
        break;
      case "kill in a write":
        this.#fate = deed.fate;
        this.#process!.next = { fate: deed.fate, others: deed.others };
        break;
      case "set the clock":
        this.nowMs = deed.toMs;
        break;
      case "look":
        this.#look();
        break;
      default:
        await this.#stopOrStart(deed.do);
    }
    await this.#tick();
  }

  async #stopOrStart(what: "stop" | "kill" | "start"): Promise<void> {
    if (what === "start") {
      await this.#start();
      return;
    }
    this.#seeFires();
    if (what === "stop") {
      await this.#rounds.close();
      await this.#evaluator.close();
    }
    this.#die();
  }

  async #start(): Promise<void> {
    const state = this.disk.open();
    this.#process = state;
    const metrics = new Metrics();
    const log = () => undefined;
    const now = () => this.nowMs;
    const silencedBy = ({ alertId, labels }: Pick<AlertEvent, "alertId" | "labels">) =>
      mayBeSilenced(alertId) ? this.#silences.get(labels.name ?? "") : undefined;
    const heldBy = (fire: Fire, openFires: () => readonly Fire[]) =>
      silencedBy(fire)?.id ?? findInhibition(fire, listOf(this.#inhibitions), openFires);
    const actionsFor = (fire: RoutedFire, own: readonly Action[]) =>
      findActions(fire, own, listOf(this.#routes));
    const routeOf = (id: string) => this.#routes.get(id);
    const noteTold: FireSubscriber = {
      prepare: ({ nowMs, messages }) => {
        for (const { event } of messages)
          if (event.type === "alertFired") this.toldMs.set(event.fireId, nowMs);
        return { changes: [], stored: () => undefined };
      },
    };
    const send = (delivery: Delivery) => this.#receive(state, delivery);
    const senders = { webhook: send, slack: send, email: send, pagerDuty: send };
    const onGivenUp: OutboxOptions["onGivenUp"] = (_, notifications) => {
      for (const { action, event } of notifications)
        this.givenUp.push({ to: nameOf(action), event: event as AlertEvent });
    };
    this.#outbox = new Outbox({
      ...{ state, now, senders, routeOf, findHold: silencedBy, onGivenUp, metrics, log },
      elapsed: now,
      random: () => 0.5,
      isGroupedWebhook: () => false,
    });
    this.#evaluator = new Evaluator({
      ...{
        state,
        now,
        metrics,
        log,
        silencedBy: heldBy,
        delayMs,
        signalDelaysMs: {},
        historyAgeMs: 30 * 24 * 3_600_000,
        lateRowsMs: 0,
        retryWaitMs: 0,
        aliveMark: {
          read: () => this.#markMs,
          write: (aliveMs) => {
            this.#markMs = aliveMs;
          },
        },
        bucketsWithRows: async () => [],
        subscribers: [new InvestigationRequests(state), this.#outbox, noteTold],
        actionsFor,
      },
      query: (asked) => this.#answer(asked),
      shapeOf: (query) => ({
        unlabelled: query.startsWith("plain"),
        selector: query,
        signals: ["logs"],
        missing: { effect: "change", spillsOver: false, windowMs: 0, offsetMs: 0 },
      }),
      // As if rows of all ages came all the time: each reading looks back.
      arrivals: { position: () => this.nowMs, oldestMs: () => 0 },
    });
    for (const alert of this.alerts.values()) await this.#evaluator.upsert(alert);
    await this.#evaluator.begin();
    this.#rounds = new Rounds({
      ...{ state, now, log, actionsFor, routeOf, evaluator: this.#evaluator, outbox: this.#outbox },
      silencedBy: heldBy,
      elapsed: () => this.#elapsedMs,
      isFull: () => this.disk.isFull,
      fate: () => this.#fate,
      onLook: (deed) => this.journal.push({ atMs: this.nowMs, deed }),
    });
    this.#rounds.run();
  }

  async #runUntil(atMs: number): Promise<void> {
    while (this.nowMs < atMs) {
      this.#pass(Math.max(1, Math.min(atMs, this.#nextMs()) - this.nowMs));
      await this.#tick();
    }
  }

  /** Signs of life every few seconds, and every time at which something is due, whether or not the evaluator says so. */
  #nextMs(): number {
    let nextMs = this.nowMs + lookEveryMs;
    for (const behindMs of this.behindMs.values()) {
      const dueMs = Math.floor((this.nowMs - behindMs) / minute + 1) * minute + behindMs;
      nextMs = Math.min(nextMs, dueMs);
    }
    if (this.#process === null) return nextMs;
    for (const dueMs of [this.#rounds.lookedMs + lookEveryMs, ...this.#hangsUntilMs]) {
      if (dueMs > this.#elapsedMs) nextMs = Math.min(nextMs, this.nowMs + dueMs - this.#elapsedMs);
    }
    for (const dueMs of [this.#evaluator.nextDueMs(), this.#outbox.nextDueMs()]) {
      if (dueMs > this.nowMs) nextMs = Math.min(nextMs, dueMs);
    }
    return nextMs;
  }

  #pass(ms: number): void {
    this.nowMs += ms;
    this.#elapsedMs += ms;
    vi.advanceTimersByTime(ms);
  }

  async #tick(): Promise<void> {
    // What a look finds is stored before anything else is done in the same moment.
    if (this.#process !== null && this.#rounds.lookedMs === this.#elapsedMs) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#process.isAlive) {
        this.#rounds.noteDeath();
        this.#die();
      }
    }
    for (let rounds = 0; rounds < roundsMax && this.#process !== null; rounds++) {
      void this.#evaluator.evaluateDue();
      void this.#outbox.sendDue();
      await this.#settle();
      if (!this.#process.isAlive) this.#die();
      else if (this.#evaluator.nextDueMs() > this.nowMs && this.#outbox.nextDueMs() > this.nowMs) break;
    }
  }

  /** All that follows from what is done now, except what waits for time to pass. */
  async #settle(): Promise<void> {
    for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
    for (const { id, status, problem, action, event } of this.#outbox.list()) {
      if (status === "skipped" && untoldReasons.has(problem ?? ""))
        this.untold.set(id, { to: nameOf(action), event: event as AlertEvent });
    }
  }

  #die(): void {
    const stored = this.disk.tables.get("alert-clock")?.get("alive") as { aliveMs: number } | undefined;
    const aliveMs = Math.max(stored?.aliveMs ?? weekStartMs, this.#markMs);
    // It says so at every tick, unless it cannot store that it was away before.
    if (!this.disk.isFull) expect(this.nowMs - aliveMs).toBeLessThan(6 * second);
    const storedThroughMs = this.disk.storedThroughMs(this.alerts.values());
    this.journal.push({ atMs: this.nowMs, deed: { do: "fell silent", aliveMs, storedThroughMs } });
    this.#process!.kill();
    this.#process = null;
    void this.#rounds.close();
  }

  #answer(asked: SeriesRequest): Promise<readonly ReadSeries[]> {
    const { query, startMs, endMs, bucketSeconds } = asked;
    this.#calibrate(asked);
    const how = this.#failing.get(query);
    if (how === "hang") {
      this.#hangsUntilMs = this.#hangsUntilMs.filter((ms) => ms > this.#elapsedMs);
      this.#hangsUntilMs.push(this.#elapsedMs + queryMsMax);
      return new Promise(() => undefined);
    }
    if (how === "error") return Promise.reject(new Error("the store is on fire"));
    const found: ReadSeries[] = [];
    for (const series of this.#points.of.get(query)!) {
      const points: [number, number][] = [];
      for (let bucketMs = startMs; bucketMs <= endMs; bucketMs += bucketSeconds * second) {
        const value = this.#points.seenAt(series, bucketMs, this.nowMs);
        if (value !== null) points.push([bucketMs, value]);
      }
      if (points.length > 0) found.push({ labels: series.labels, points });
    }
    return Promise.resolve(found);
  }

  /** The first time that a query is asked at a pace of the evaluator's own, i.e. not at once when an alert was saved. */
  #calibrate({ query, endMs }: SeriesRequest): void {
    const agoMs = this.nowMs - Math.floor((endMs + 1) / minute) * minute;
    if (!this.behindMs.has(query) && agoMs < 50 * second) this.behindMs.set(query, agoMs);
  }

  async #receive(process: Process, { id, action, events }: Delivery): Promise<Outcome> {
    const to = nameOf(action);
    if (!process.isAlive) return new Promise(() => undefined);
    if (to === "slack #gone") return { kind: "final", problem: "channel_not_found" };
    const mood = this.#moods.get(to);
    if (mood === "answers 500") return { kind: "retry", problem: "it answered 500" };
    if (mood === "asks for a pause") return { kind: "retry", problem: "429", afterMs: minute };
    if (mood === "resets") throw new Error("ECONNRESET");
    if (mood === "hangs") return new Promise(() => undefined);
    this.receipts.push({ to, id, events: events as readonly AlertEvent[] });
    if (mood === "loses the answer") throw new Error("socket hang up");
    return { kind: "delivered" };
  }

  #look(): void {
    const alerts: Sight["alerts"] = new Map();
    for (const id of this.alerts.keys()) {
      const { state, error } = this.#evaluator.stateOf(id)!;
      alerts.set(id, { state, hasError: error !== null, history: this.#evaluator.history(id) });
    }
    this.sights.push({ atMs: this.nowMs, after: this.journal.length, alerts });
    this.#seeFires();
  }

  #seeFires(): void {
    for (const id of this.#everMade) {
      for (const fire of this.#evaluator.fires(id)) this.fires.set(fire.id, fire);
    }
  }
}
