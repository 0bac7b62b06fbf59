/**
 * The file `server` in the data folder says where the server is that has the folder open, so that commands which name
 * the folder find it. A server proves that it is the one with the secret of that file: an address alone may meanwhile
 * belong to another process, which must not be sent a token.
 */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What the file holds. */
export interface ServerAddress {
  /** A URL that reaches the server from its own machine. */
  url: string;
  /** Random, made at each start: 64 hexadecimal digits. */
  secret: string;
}

/** 32 bytes: a secret, or a challenge. */
export const hexForm = /^[0-9a-f]{64}$/;

/** Path of the route that answers a challenge. */
export const proofPath = "/api/v1/server-proof";

/** Path of the file in a data folder. */
export function addressPath(dataDir: string): string {
  return join(dataDir, "server");
}

/** Undefined where no server has the folder open, or its file cannot be read. The server may have been killed. */
export function readServerAddress(dataDir: string): ServerAddress | undefined {
  try {
    const { url, secret } = JSON.parse(readFileSync(addressPath(dataDir), "utf8")) as Partial<ServerAddress>;
    return URL.canParse(String(url)) && hexForm.test(String(secret))
      ? ({ url, secret } as ServerAddress)
      : undefined;
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

/** The proof of a server with this secret. */
export function prove(secret: string, challenge: string): string {
  return createHmac("sha256", Buffer.from(secret, "hex")).update(challenge).digest("hex");
}
