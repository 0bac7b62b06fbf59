/** A rule of one instance while it judges buckets again: what it found before, and what it finds now. */
import type { ResolveReason } from "../../model/event.ts";
import { stableId } from "../../model/stable-id.ts";
import type { OpenFire, RecentFire, RuleState } from "./alert-state.ts";
import { correctFires, type FiringTime, firingSince, type KnownFire, pastTimes } from "./correction.ts";
import type { ClosedFire, Fire } from "./fire.ts";
import type { Transition } from "./judgement.ts";

export interface RejudgedParts {
  /** Of the instance. */
  key: string;
  labels: Record<string, string>;
  /** Of the rule. */
  name: string;
  /** As it was before; undefined where the rule had not judged the instance. */
  state: RuleState | undefined;
  /** Fires that were open or ended lately. */
  known: readonly KnownFire[];
  /** The state with which judging begins again. */
  start: RuleState | undefined;
  /** Start of the first bucket that is judged again, and end of the last. */
  fromMs: number;
  throughMs: number;
}

export interface Rejudged {
  opened: Fire[];
  closed: ClosedFire[];
  retracted: string[];
  transitions: Transition[];
  /** The new state, with the ids of the fires that go on. Undefined where the instance is gone. */
  state: RuleState | undefined;
  isChanged: boolean;
}

/** A time in which the rule fires, with the id that its fire has in the states. */
interface Time extends FiringTime {
  id: string;
  /** Undefined where it began before. */
  fire: Fire | undefined;
}

export class RejudgedRule {
  readonly key: string;
  readonly labels: Record<string, string>;
  readonly name: string;
  readonly transitions: Transition[] = [];
  readonly #before: RuleState | undefined;
  readonly #fromMs: number;
  readonly #knownSinceMs: number;
  readonly #throughMs: number;
  readonly #known: readonly KnownFire[];
  readonly #times: Time[] = [];

  constructor({ key, labels, name, state, known, start, fromMs, throughMs }: RejudgedParts) {
    this.key = key;
    this.labels = labels;
    this.name = name;
    this.#before = state;
    this.#known = known;
    this.#fromMs = fromMs;
    this.#throughMs = throughMs;
    this.#knownSinceMs = start === undefined ? fromMs : (start.earlier?.[0] ?? start).sinceMs;
    if (start === undefined) return;
    for (const time of pastTimes(start)) this.#times.push({ ...time, fire: undefined });
    if (start.fire === null) return;
    const time = { fromMs: firingSince(start), toMs: null, reason: null, isPast: false };
    this.#times.push({ id: start.fire.id, fire: undefined, ...time });
  }

  /**
   * Returns the id that the fire has in the states until `finish`. It differs from the fire's own where an earlier time
   * bears that one: a fire that went on in the earlier time may have begun just when this time begins.
   */
  begin(fire: Fire): string {
    const isTaken = this.#times.some(({ id }) => id === fire.id);
    const id = isTaken ? stableId("later time", fire.id) : fire.id;
    this.#times.push({ id, fire, fromMs: fire.firedAtMs, toMs: null, reason: null, isPast: false });
    return id;
  }

  end(toMs: number, reason: ResolveReason): void {
    Object.assign(this.#times.at(-1)!, { toMs, reason });
  }

  /**
   * `after`: the state that judging led to. `endMs`: end of the newest bucket. `makeFire` makes a fire that begins at a
   * time by what the rule sees now.
   */
  finish(after: RuleState | undefined, endMs: number, makeFire: (fromMs: number) => Fire): Rejudged {
    const { opened, closed, retracted, kept } = correctFires(this.#known, this.#times, {
      knownSinceMs: this.#knownSinceMs,
      fromMs: this.#fromMs,
      endMs,
    });
    const names = new Map<string, OpenFire>();
    for (const [{ id }, { id: keptId, open }] of kept) {
      names.set(id, open ?? { id: keptId, noticed: true, told: true });
    }
    const takenBackBefore = this.#before?.takenBack ?? 0;
    const takenBack =
      takenBackBefore + retracted.length + closed.filter(({ reason }) => reason === "corrected").length;
    const fires: Fire[] = [];
    const ended: ClosedFire[] = [...closed];
    for (const { time, fromMs } of opened) {
      const made = time.fromMs === fromMs && time.fire !== undefined ? time.fire : makeFire(fromMs);
      const fire = fromMs <= this.#throughMs ? markCorrected(made, endMs, takenBackBefore) : made;
      const open = { id: fire.id, noticed: false, told: false };
      fires.push(fire);
      names.set(time.id, open);
      if (time.toMs !== null) ended.push({ fire: open, resolvedAtMs: time.toMs, reason: time.reason! });
    }
    const recent = this.#recentFires(fires, ended, retracted);
    const state = after && {
      ...rename(after, names),
      ...(recent.length === 0 ? {} : { fires: recent }),
      ...(takenBack === 0 ? {} : { takenBack }),
    };
    const transitions = this.#newTransitions(after, endMs, names);
    const isChanged = fires.length + ended.length + retracted.length + transitions.length > 0;
    return { opened: fires, closed: ended, retracted, transitions, state, isChanged };
  }

  /** The fires as they are stored now. One that was taken back is none any more. */
  #recentFires(
    opened: readonly Fire[],
    ended: readonly ClosedFire[],
    retracted: readonly string[],
  ): RecentFire[] {
    const all = [
      ...this.#known.map(({ id, fromMs, toMs }) => ({ id, fromMs, toMs })),
      ...opened.map(({ id, firedAtMs }) => ({ id, fromMs: firedAtMs, toMs: null })),
    ];
    return all.flatMap((fire) => {
      const end = ended.find((each) => each.fire.id === fire.id);
      if (end?.reason === "corrected" || retracted.includes(fire.id)) return [];
      return [{ ...fire, toMs: end?.resolvedAtMs ?? fire.toMs }];
    });
  }

  /** The transitions that were not there before; one to the state that judging led to where it came about without. */
  #newTransitions(
    after: RuleState | undefined,
    endMs: number,
    names: ReadonlyMap<string, OpenFire>,
  ): Transition[] {
    const known = this.#before;
    const states = known === undefined ? [] : [...(known.earlier ?? []), known];
    const before = new Set(states.map(({ sinceMs, state }) => `${sinceMs} ${state}`));
    const found = this.transitions
      .filter(({ atMs, to }) => !before.has(`${atMs} ${to}`))
      .map((each): Transition => {
        const fireId = each.fireId === null ? null : (names.get(each.fireId)?.id ?? each.fireId);
        return { ...each, fireId, ...(each.atMs <= this.#throughMs ? { corrected: true } : {}) };
      });
    if (known === undefined || after === undefined || after.state === known.state) return found;
    return found.at(-1)?.to === after.state ? found : [...found, this.#takeBack(known, after, endMs)];
  }

  #takeBack({ state: from, sinceMs, fire }: RuleState, after: RuleState, endMs: number): Transition {
    const { name: rule, labels } = this;
    const why = "rows that came later take back what decided before";
    const fireId = fire?.id ?? after.fire?.id ?? null;
    const decided = { bucketMs: sinceMs, value: null };
    return { rule, labels, from, to: after.state, atMs: endMs, decided, why, fireId, corrected: true };
  }
}

/**
 * The same fire may have been taken back before, even since the same bucket: this one has an id of its own. `endMs`: end
 * of the newest bucket. `takenBack`: how many fires of the rule were taken back.
 */
function markCorrected(fire: Fire, endMs: number, takenBack: number): Fire {
  const id = stableId("corrected fire", fire.id, endMs, ...(takenBack === 0 ? [] : [takenBack]));
  return { ...fire, id, corrected: true };
}

/** Gives the fires of a state the ids under which they are stored. */
function rename(
  { state, sinceMs, fire, earlier }: RuleState,
  names: ReadonlyMap<string, OpenFire>,
): RuleState {
  const named = {
    ...{ state, sinceMs },
    fire: fire === null ? null : (names.get(fire.id) ?? fire),
  };
  if (earlier === undefined) return named;
  return {
    ...named,
    earlier: earlier.map((each) => ({
      ...each,
      fireId: each.fireId === null ? null : (names.get(each.fireId)?.id ?? each.fireId),
    })),
  };
}
