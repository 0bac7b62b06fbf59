/** Stored bytes that are not what was written. */
export interface DamageReport {
  /** File or value, relative to the data folder. */
  where: string;
  problem: string;
}
