/** A clock that runs faster than time, the same in a test and in the server that it starts. */
export interface DayClock {
  /** Unix milliseconds at which it began by the system's clock. */
  realStartMs: number;
  /** What it showed then. */
  startMs: number;
  /** How many times as fast as time it runs. */
  factor: number;
}

/** The system's clock, whatever `Date.now` was replaced by. */
const readSystemClock = Date.now.bind(Date);

/** Unix milliseconds. */
export function readDayClock({ realStartMs, startMs, factor }: DayClock): number {
  return startMs + (readSystemClock() - realStartMs) * factor;
}
