/** Which permissions each role has. */

import type { Caller, Permission } from "../model/caller.ts";

/** The permissions of each role. A viewer's "notify" reaches only what rules of their groups let them update. */
export const permissionsOf: Readonly<Record<Caller["role"], readonly Permission[]>> = {
  admin: ["search", "notify", "ingest", "configure", "manage access", "manage tokens", "back up", "sign in"],
  editor: ["search", "notify", "configure", "sign in"],
  viewer: ["search", "notify", "sign in"],
  ingest: ["ingest", "synchronize", "sign in"],
  cluster: [],
  anonymous: ["search", "sign in"],
};
