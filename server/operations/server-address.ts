/**
 * The file `server` in the data folder says where the server is that has the folder open, so that commands which name
 * the folder find it. A server proves that it is the one with the secret of that file: an address alone may meanwhile
 * belong to another process, which must not be sent a token.
 */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import type { Part } from "../api/part.ts";

/** What the file holds. */
export interface ServerAddress {
  /** A URL that reaches the server from its own machine. */
  url: string;
  /** Random, made at each start: 64 hexadecimal digits. */
  secret: string;
}

const fileName = "server";
const addressForm = z.object({ url: z.url(), secret: z.string().regex(/^[0-9a-f]{64}$/) });
const challengeForm = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

/** Path of the route that answers a challenge. */
export const proofPath = "/api/v1/server-proof";

/** Writes the address while the server runs. `url` is called once the server listens. */
export function serverAddressPart(dataDir: string, url: () => string): Part {
  const secret = randomBytes(32).toString("hex");
  const path = join(dataDir, fileName);
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

/** Undefined where no server has the folder open, or its file cannot be read. The server may have been killed. */
export function readServerAddress(dataDir: string): ServerAddress | undefined {
  try {
    return addressForm.parse(JSON.parse(readFileSync(join(dataDir, fileName), "utf8")));
  } catch {
    return undefined;
  }
}

/** A challenge that a server must answer with a proof. */
export function makeChallenge(): string {
  return randomBytes(32).toString("hex");
}

/** Returns whether the proof is that of the server with this secret. */
export function isProof(secret: string, challenge: string, proof: string): boolean {
  const expected = Buffer.from(prove(secret, challenge));
  const given = Buffer.from(proof);
  return expected.byteLength === given.byteLength && timingSafeEqual(expected, given);
}

function prove(secret: string, challenge: string): string {
  return createHmac("sha256", Buffer.from(secret, "hex")).update(challenge).digest("hex");
}

/** The URL of a server that listens on all addresses names no address: loopback is one of them. */
function toLocalUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}
