/** Which permissions each role has. */

import type { Caller, Permission } from "../model/caller.ts";

/** The permissions of each role. A viewer's "notify" reaches only what rules of their groups let them update. */
export const permissionsOf: Readonly<Record<Caller["role"], readonly Permission[]>> = {
  admin: ["search", "notify", "ingest", "configure", "manage access", "manage tokens", "back up"],
  editor: ["search", "notify", "configure"],
  viewer: ["search", "notify"],
  ingest: ["ingest", "synchronize"],
  cluster: [],
  anonymous: ["search"],
};
