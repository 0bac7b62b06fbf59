/** What happens in the week: alerts that come, change and go, faults, deaths, clocks that jump, silences. Drawn before it begins. */
import type { Random } from "../../../../fixtures/random.ts";
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Action, EvaluationRule, Operator } from "../../../../server/model/alert.ts";
import type { Inhibition, NotificationRoute } from "../../../../server/model/notification-route.ts";
import { anyInhibition, anyRoute, traitsOf } from "./drawn-holds.ts";

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const weekStartMs = Date.UTC(2026, 0, 10);
/** A query that takes longer has failed. */
export const queryMsMax = 30 * second;

/** How a receiver behaves. `loses the answer`: it took the message, and the sender never hears of it. */
export type Mood = "answers 500" | "resets" | "loses the answer" | "hangs" | "asks for a pause";

export type Deed =
  | { do: "save"; alert: AlertDefinition }
  | { do: "remove"; id: string }
  | { do: "fail"; query: string; how: "error" | "hang" }
  | { do: "mend queries" }
  | { do: "fill the disk" }
  | { do: "free the disk" }
  | { do: "silence" | "unsilence"; name: string }
  /** Without one it goes. */
  | { do: "route"; id: string; route: NotificationRoute | undefined }
  | { do: "inhibit"; id: string; inhibition: Inhibition | undefined }
  | { do: "spoil"; receiver: string; mood: Mood }
  | { do: "mend receivers" }
  | { do: "stop" | "kill" | "start" }
  /** Dies in a write of the evaluation that comes next. */
  | { do: "kill in a write"; fate: "dies before" | "dies after"; others: number }
  | { do: "set the clock"; toMs: number }
  | { do: "look" };

/** A stop, a kill or a death in a write. */
export interface Death {
  do: "fell silent";
  /** When the server said last that it was alive. */
  aliveMs: number;
  /** By the id of the alert: end of the newest bucket whose evaluation is stored. A death parts those of one moment. */
  storedThroughMs: ReadonlyMap<string, number>;
}

/** A look at the alerts that are not judged, and at the fires that go on. */
export interface Look {
  do: "looked";
  /** False: what was seen of alerts that are not judged could not be stored. It is as though it had not been seen. */
  isStored: boolean;
  /** Alerts of which messages about fires that go on were stored before a write came to nothing; null where none did. */
  storedOnly: Set<string> | null;
}

export interface Step {
  /** By the clock of the server, which may go back. */
  atMs: number;
  deed: Deed;
}

export interface WeekSize {
  alerts: number;
  queries: number;
  hours: number;
}

/** Destinations that are never spoilt: alerts that are silenced at times tell these, so that nothing waits into a silence. */
const calm: readonly Action[] = [
  { type: "webhook", webhookDestination: { uuid: "calm", notifyOnResolve: true } },
  { type: "email", emailDestination: { emails: ["calm@shop.example"], notifyOnResolve: true } },
];
const exposed: readonly Action[] = [
  { type: "webhook", webhookDestination: { uuid: "one", notifyOnResolve: true } },
  { type: "webhook", webhookDestination: { uuid: "quiet" } },
  { type: "webhook", webhookDestination: { uuid: "begin", resolvedUuid: "end" } },
  { type: "slack", slackDestination: { channel: "#a", notifyOnResolve: true } },
  { type: "slack", slackDestination: { channel: "#b" } },
  { type: "slack", slackDestination: { channel: "#gone", notifyOnResolve: true } },
  { type: "email", emailDestination: { emails: ["a@shop.example"], notifyOnResolve: true } },
  { type: "pagerDuty", pagerDutyDestination: { serviceName: "shop" } },
];
const spoilable = ["webhook one", "webhook quiet", "webhook begin", "slack #a", "email a@shop.example"];
const moods = ["answers 500", "resets", "loses the answer", "hangs", "asks for a pause"] as const;

export class WeekPlan {
  readonly steps: Step[] = [];
  readonly queries: string[];
  readonly endMs: number;
  /** Times in which a death may have parted alerts that were judged from those that were not: no row comes then. */
  readonly torn: [fromMs: number, toMs: number][] = [];
  readonly #random: Random;
  readonly #alerts = new Map<string, AlertDefinition>();
  readonly #failing = new Map<string, "error" | "hang">();
  readonly #silences = new Set<string>();
  #nowMs = weekStartMs;
  #names = 0;
  /** No clock goes back far over a time in which the server was down. */
  #lastDownMs = weekStartMs;

  constructor(random: Random, { alerts, queries, hours }: WeekSize) {
    this.#random = random;
    this.endMs = weekStartMs + hours * hour;
    this.queries = Array.from({ length: queries }, (_, i) => (i % 5 === 0 ? `plain ${i}` : `query ${i}`));
    this.#nowMs += 50 * second;
    // The first of each query, so that it is known from the beginning when each is asked.
    for (let i = 0; i < alerts; i++) this.#save(this.#newAlert(this.queries[i % queries]!));
    while (this.#nowMs < this.endMs) this.#slot();
    this.#quiet();
  }

  /** All is well again, and a look at the end. */
  #quiet(): void {
    this.#mendQueries();
    this.#step({ do: "mend receivers" });
    for (const name of this.#silences) this.#step({ do: "unsilence", name });
    for (const id of ["h1", "h2"]) this.#step({ do: "inhibit", id, inhibition: undefined });
    this.#pass(12);
    this.#step({ do: "look" });
  }

  #step(deed: Deed): void {
    this.steps.push({ atMs: this.#nowMs, deed });
  }

  /** So many minutes later, in the last seconds of a minute: all that is due in it has been evaluated, unless something is amiss. */
  #pass(minutes: number): void {
    const atMinute = Math.floor(this.#nowMs / minute) * minute;
    this.#nowMs = atMinute + minutes * minute + 52 * second + this.#random.below(7 * second);
  }

  #slot(): void {
    const random = this.#random;
    this.#pass(random.between(4, 25));
    if (random.oneIn(6)) this.#step({ do: "look" });
    const what = random.below(100);
    if (what < 14) this.#fail();
    else if (what < 26) this.#mendQueries();
    else if (what < 31) this.#fullDisk();
    else if (what < 39) this.#down();
    else if (what < 46) this.#tornDown();
    else if (what < 66) this.#edit();
    else if (what < 73) this.#silence();
    else if (what < 79) this.#hold();
    else if (what < 86) this.#spoil();
    else if (what < 96) this.#step({ do: "mend receivers" });
    else this.#setClock();
  }

  /** Half of the queries stay well at least: what is saved asks one of them. */
  #fail(): void {
    if (this.#failing.size >= this.queries.length / 2) return;
    const query = this.#random.pick(this.queries);
    const how = this.#random.pick(["error", "error", "hang"] as const);
    this.#failing.set(query, how);
    this.#step({ do: "fail", query, how });
  }

  #mendQueries(): void {
    this.#failing.clear();
    this.#step({ do: "mend queries" });
  }

  #fullDisk(): void {
    this.#step({ do: "fill the disk" });
    this.#pass(this.#random.between(1, 15));
    this.#step({ do: "free the disk" });
  }

  #down(): void {
    const random = this.#random;
    const isFull = random.oneIn(5);
    if (isFull) {
      this.#step({ do: "fill the disk" });
      this.#pass(random.between(1, 4));
    }
    // What cannot be written cannot be ended in good order.
    this.#step({ do: isFull || random.oneIn(2) ? "kill" : "stop" });
    if (isFull) this.#step({ do: "free the disk" });
    this.#pass(random.pick([1, 2, 6, 20, 90]));
    // What was configured in the last moment is found at the start.
    if (random.oneIn(3)) this.#edit();
    this.#step({ do: "start" });
    this.#lastDownMs = this.#nowMs;
  }

  #tornDown(): void {
    const { steps } = this;
    this.#pass(3);
    const fromMs = Math.floor(this.#nowMs / minute) * minute + 29 * second;
    const deed: Deed = {
      do: "kill in a write",
      fate: this.#random.pick(["dies before", "dies after"] as const),
      others: this.#random.below(8),
    };
    steps.push({ atMs: fromMs, deed });
    this.#pass(this.#random.pick([0, 0, 1, 5, 45]));
    this.#step({ do: "start" });
    this.torn.push([fromMs, this.#nowMs]);
    this.#lastDownMs = this.#nowMs;
  }

  #setClock(): void {
    const random = this.#random;
    // When a query that hangs gives up could not be told by a clock that is set meanwhile.
    if ([...this.#failing.values()].includes("hang")) return;
    const isCalm = this.#failing.size === 0 && this.#nowMs - this.#lastDownMs > 3 * hour;
    const minutes = random.pick([2, 15, -2, -3, ...(isCalm ? [-45] : [])]);
    const fromMs = this.#nowMs;
    this.#pass(minutes);
    const toMs = this.#nowMs;
    this.steps.push({ atMs: fromMs, deed: { do: "set the clock", toMs } });
    this.#lastDownMs = Math.max(fromMs, toMs);
    // Nothing else changes until the clock is where it was.
    if (minutes > -10) this.#pass(4 + Math.max(0, -minutes));
  }

  #silence(): void {
    const name = this.#random.pick(["s1", "s2"]);
    if (this.#silences.delete(name)) this.#step({ do: "unsilence", name });
    else {
      this.#silences.add(name);
      this.#step({ do: "silence", name });
    }
  }

  #hold(): void {
    const random = this.#random;
    const id = random.pick(["h1", "h2"]);
    const isGone = random.oneIn(3);
    if (random.oneIn(2)) this.#step({ do: "route", id, route: isGone ? undefined : anyRoute(random) });
    else this.#step({ do: "inhibit", id, inhibition: isGone ? undefined : anyInhibition(random) });
  }

  #spoil(): void {
    this.#step({ do: "spoil", receiver: this.#random.pick(spoilable), mood: this.#random.pick(moods) });
  }

  #edit(): void {
    const random = this.#random;
    for (let count = random.between(1, 3); count > 0; count--) {
      const alert = random.pick([...this.#alerts.values()]);
      // A query that hangs keeps an alert that joins it waiting for no time that could be told beforehand.
      if (this.#failing.get(alert.timeseries.expression.svcQLTimeseries.query) === "hang") continue;
      if (random.oneIn(6)) this.#remove(alert.metadata.id);
      else if (random.oneIn(5)) this.#save(this.#newAlert(this.#healthyQuery()));
      else this.#save(this.#edited(alert));
    }
  }

  #remove(id: string): void {
    if (this.#alerts.size < 3) return;
    this.#alerts.delete(id);
    this.#step({ do: "remove", id });
  }

  #save(alert: AlertDefinition): void {
    this.#alerts.set(alert.metadata.id, alert);
    this.#step({ do: "save", alert });
  }

  #healthyQuery(): string {
    const healthy = this.queries.filter((query) => !this.#failing.has(query));
    return this.#random.pick(healthy);
  }

  #edited(alert: AlertDefinition): AlertDefinition {
    const random = this.#random;
    const { metadata, timeseries } = alert;
    const { evaluationRules: rules } = timeseries;
    const actions = actionsFor(metadata.id);
    const place = random.below(rules.length);
    const withRules = (evaluationRules: EvaluationRule[]): AlertDefinition => {
      return { ...alert, timeseries: { ...timeseries, evaluationRules } };
    };
    switch (random.below(9)) {
      case 8:
        return withRules(rules.with(place, { ...without(rules[place]!), ...repeat(random) }));
      case 7:
        return { ...alert, ...unhealthyAfter(random) };
      case 0:
        return { ...alert, metadata: { ...metadata, name: `renamed ${this.#names++}` } };
      case 1:
        return withRules(rules.with(place, { ...rules[place]!, actions: drawn(random, actions) }));
      case 2:
        return withRules([...rules, anyRule(random, `rule ${this.#names++}`, actions)]);
      case 3:
        return rules.length === 1 ? alert : withRules(rules.toSpliced(place, 1));
      case 4:
        return {
          ...alert,
          timeseries: { ...timeseries, expression: expressionOf(this.#healthyQuery(), random) },
        };
      default:
        return withRules(rules.with(place, anyRule(random, rules[place]!.name, actions)));
    }
  }

  #newAlert(query: string): AlertDefinition {
    const random = this.#random;
    const id = `alert ${this.#names++}`;
    const rules = Array.from({ length: random.between(1, 3) }, (_, i) =>
      anyRule(random, `rule ${i}`, actionsFor(id)),
    );
    return {
      metadata: { id, name: id },
      investigateOnFire: random.oneIn(2),
      ...traitsOf(id),
      ...unhealthyAfter(random),
      timeseries: { expression: expressionOf(query, random), evaluationRules: rules },
    };
  }
}

/** Every other alert is one of those that may be silenced. */
function actionsFor(id: string): readonly Action[] {
  return Number(id.split(" ")[1]) % 2 === 0 ? calm : exposed;
}

/** The week's silences are for these alerts alone: what the others tell may wait for a receiver until after a silence has begun. */
export function mayBeSilenced(alertId: string): boolean {
  return actionsFor(alertId) === calm;
}

function expressionOf(query: string, random: Random) {
  return { svcQLTimeseries: { query, bucketSize: random.pick([60, 60, 60, 120, 300]) } };
}

function without({ repeatSeconds: _, ...rule }: EvaluationRule): EvaluationRule {
  return rule;
}

function unhealthyAfter(random: Random): { unhealthyAfterSeconds?: number } {
  const seconds = random.pick([undefined, undefined, 0, 45, 617, 3_600]);
  return seconds === undefined ? {} : { unhealthyAfterSeconds: seconds };
}

function drawn(random: Random, actions: readonly Action[]): Action[] {
  return actions.filter(() => random.oneIn(3));
}

function anyRule(random: Random, name: string, actions: readonly Action[]): EvaluationRule {
  const m = random.between(1, 4);
  const n = m + random.between(0, 3);
  const missing = random.pick(["notBreaching", "breaching", "ignore", "missing", undefined] as const);
  return {
    name,
    static: {
      operators: anyOperators(random),
      persistenceSettings: {
        datapointsToAlarm: m,
        datapointsInEvaluationWindow: n,
        ...(missing === undefined ? {} : { missingDatapointBehavior: missing }),
      },
    },
    actions: drawn(random, actions),
    ...repeat(random),
  };
}

/** Whole minutes: so that no message of a look waits when a silence begins, late in a minute. */
function repeat(random: Random): { repeatSeconds?: number } {
  const seconds = random.pick([undefined, undefined, undefined, 300, 1_200, 3_600]);
  return seconds === undefined ? {} : { repeatSeconds: seconds };
}

/** Values are whole numbers from 0 to 10. */
function anyOperators(random: Random): { operator: Operator; threshold: number }[] {
  const high = { operator: random.pick(["greaterThan", "greaterThanOrEqual"] as const), threshold: 6 };
  if (!random.oneIn(3)) return [high];
  const others = [
    { operator: "lessThan", threshold: 9 },
    { operator: "lessThanOrEqual", threshold: 9 },
    { operator: "notEquals", threshold: 8 },
  ] as const;
  return random.oneIn(4) ? [{ operator: "equals", threshold: 0 }] : [high, random.pick(others)];
}
