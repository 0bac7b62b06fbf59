/** A report of damage: stored bytes that are not what was written, or are missing. */
export interface DamageReport {
  /** The file or value, relative to the data folder. */
  where: string;
  /** What is wrong, in words. */
  problem: string;
}

/** Takes note of what is wrong with a partition, in words. */
export type ReportProblem = (problem: string) => void;
