import type { Permission, Role } from "../model/caller.ts";

/** A viewer may send messages of what rules of their groups let them update, and of nothing else. */
export const permissionsOf: Readonly<Record<Role | "anonymous", readonly Permission[]>> = {
  admin: ["search", "notify", "ingest", "configure", "manage access", "manage tokens", "back up"],
  editor: ["search", "notify", "configure"],
  viewer: ["search", "notify"],
  ingest: ["ingest"],
  anonymous: ["search"],
};
