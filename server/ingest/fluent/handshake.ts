/**
 * The handshake of Fluent's forward protocol: both sides show that they have the same key, without sending it. The
 * server begins.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { hostname } from "node:os";
import { RowProblem } from "../json/json-row.ts";
import { MessagePackReader } from "./message-pack.ts";
import { writeMessagePack } from "./message-pack-writer.ts";

const pingElements = 6;

export class Handshake {
  readonly #key: string;
  readonly #nonce = randomBytes(16);

  constructor(key: string) {
    this.#key = key;
  }

  /** The first message of the server. */
  get greeting(): Buffer {
    return writeMessagePack(["HELO", { nonce: this.#nonce, auth: Buffer.alloc(0), keepalive: true }]);
  }

  /** Reads the client's answer. Returns the last message of the handshake, and whether the client has the key. */
  answer(message: Uint8Array): { isAccepted: boolean; reply: Buffer } {
    const ping = readPing(message);
    const isAccepted =
      ping !== undefined && isEqual(ping.digest, this.#digest(ping.salt, Buffer.from(ping.host, "utf8")));
    if (!isAccepted)
      return { isAccepted, reply: writeMessagePack(["PONG", false, "shared key mismatch", "", ""]) };
    const host = hostname();
    const own = this.#digest(ping.salt, Buffer.from(host, "utf8"));
    return { isAccepted, reply: writeMessagePack(["PONG", true, "", host, own]) };
  }

  #digest(salt: Buffer, host: Buffer): string {
    const hash = createHash("sha512").update(salt).update(host).update(this.#nonce).update(this.#key);
    return hash.digest("hex");
  }
}

interface Ping {
  host: string;
  salt: Buffer;
  digest: string;
}

/** Undefined where the message is none. */
function readPing(message: Uint8Array): Ping | undefined {
  const reader = new MessagePackReader(Buffer.from(message));
  try {
    if (reader.readArrayLength("PING") !== pingElements) return undefined;
    if (reader.readBytes("PING").toString("utf8") !== "PING") return undefined;
    const host = reader.readBytes("the host").toString("utf8");
    // A copy: the salt may be any bytes.
    const salt = Buffer.from(reader.readBytes("the salt"));
    return { host, salt, digest: reader.readBytes("the digest").toString("latin1") };
  } catch (problem) {
    if (problem instanceof RowProblem) return undefined;
    throw problem;
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => Buffer.from(text, "latin1")) as [Buffer, Buffer];
  return a.length === b.length && timingSafeEqual(a, b);
}
