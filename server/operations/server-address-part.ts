/** Writes the file with the server's address, and answers who asks for a proof that the server is the one of the file. */

import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import type { Part } from "../api/part.ts";
import {
  addressPath,
  hexForm,
  proofPath,
  prove,
  readServerAddress,
  type ServerAddress,
} from "./server-address.ts";

const challengeForm = z.string().regex(hexForm, "must be 64 hexadecimal digits");

/** Writes the address while the server runs. `url` is called once the server listens. */
export function serverAddressPart(dataDir: string, url: () => string): Part {
  const secret = randomBytes(32).toString("hex");
  const path = addressPath(dataDir);
  const route = defineRoute({
    method: "GET",
    path: proofPath,
    permission: null,
    tag: "probes",
    summary:
      "Proves that this server has a data folder open: HMAC-SHA256 of the challenge, by a secret of the folder",
    query: { challenge: challengeForm },
    response: z.strictObject({ proof: z.string() }),
    handle: async ({ query: { challenge } }) => ({ proof: prove(secret, challenge) }),
  });
  let isWritten = false;
  return {
    routes: [route],
    run: async () => {
      const address: ServerAddress = { url: toLocalUrl(url()), secret };
      await writeFile(`${path}.new`, `${JSON.stringify(address)}\n`, { mode: 0o600 });
      await rename(`${path}.new`, path);
      isWritten = true;
    },
    close: async () => {
      if (isWritten && readServerAddress(dataDir)?.secret === secret) await rm(path, { force: true });
    },
  };
}

/** The URL of a server that listens on all addresses names no address: loopback is one of them. */
function toLocalUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}
