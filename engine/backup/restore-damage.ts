/** What is wrong with a backup that was not restored. */

import { Failure } from "../failure.ts";
import type { DamageReport } from "../model/damage-report.ts";

/** Failure "damage" of a restore, with every file or value of the backup that is damaged. */
export class RestoreDamage extends Failure {
  readonly damage: readonly DamageReport[];

  constructor(damage: readonly DamageReport[]) {
    const [first, ...more] = damage.map(({ where, problem }) => `${where}: ${problem}`);
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    super("damage", `the backup is damaged, nothing was restored: ${first}${others}`);
    this.damage = damage;
  }
}
