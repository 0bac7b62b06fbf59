/** The route that streams a backup, for the command `svc backup`. */

import * as z from "zod";
import type { Store, StoredState } from "../../engine/index.ts";
import { defineRoute } from "../api/define-route.ts";
import { Reply, type Route } from "../api/route.ts";
import type { Audit } from "../control/audit.ts";
import { readFilesBesideStore } from "./backup-files.ts";
import { backupStallMsMax } from "./limits.ts";

export interface BackupParts {
  store: Store;
  state: StoredState;
  audit: Audit;
  dataDir: string;
  log: (message: string) => void;
}

/**
 * The backup is sent to the client: no request names a path on the server's disk. It waits for the work under way on the
 * store, and is then read at the client's pace.
 */
export function backupRoute({ store, state, audit, dataDir, log }: BackupParts): Route {
  return defineRoute({
    method: "POST",
    path: "/api/v1/backup",
    permission: "back up",
    deadlineMs: 60_000,
    summary: "Sends the whole store as it is now, for `svc backup` to write",
    tag: "backup",
    response: z.string().meta({ format: "binary" }),
    contentType: "application/octet-stream",
    handle: async ({ caller }) => {
      const backup = await store.openBackup(state);
      const fail = (error: unknown) => log(`the backup could not be closed: ${String(error)}`);
      const close = () => void backup.close().catch(fail);
      try {
        const id = new Date(backup.takenAtMs).toISOString();
        const change = { by: caller, action: "created", resource: "backup", id, title: id } as const;
        await audit.commit(change, [], (changes) => state.write(changes));
        return new Reply({
          status: 200,
          headers: { "Content-Type": "application/octet-stream" },
          body: backup.pieces(await readFilesBesideStore(dataDir)),
          stallMsMax: backupStallMsMax,
          onEnd: close,
        });
      } catch (error) {
        close();
        throw error;
      }
    },
  });
}
