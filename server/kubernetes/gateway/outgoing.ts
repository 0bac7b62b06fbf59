/** Makes what is sent to the hub of what was received: unpacked, enriched, filtered, packed again where it changed. */

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { type Encoding, unpack } from "../../api/content-encoding.ts";
import { ingestUnpackedBytesMax } from "../../ingest/limits.ts";
import { jsonType, protobufType } from "../../ingest/otlp/answer.ts";
import type { OutgoingBody } from "./buffer-entry.ts";
import { packBytesMin } from "./limits.ts";
import type { PodLookup } from "./resource-enrichment.ts";
import type { RuleSet } from "./rule-set.ts";
import { JsonBody } from "./wire/json-body.ts";
import type { GatewaySignal } from "./wire/tested-fields.ts";
import { enrichProtobuf } from "./wire/wire-enrichment.ts";
import { filterProtobuf } from "./wire/wire-filter.ts";

export interface ReceivedBody {
  signal: GatewaySignal;
  isJson: boolean;
  encoding: Encoding;
  body: Uint8Array;
  /** Address of the sender. */
  peer: string | undefined;
  /** Its own idempotency key. */
  key: string | undefined;
}

export interface PreparedBody {
  /** Undefined where rules left nothing. */
  outgoing: OutgoingBody | undefined;
  /** Records that were left out, by rule. */
  dropped: ReadonlyMap<string, number>;
}

interface ChangedBody {
  /** Undefined where nothing is left. */
  body: Uint8Array | undefined;
  isChanged: boolean;
  dropped: ReadonlyMap<string, number>;
}

const compress = promisify(zstdCompress);
/** The fastest level: a body is packed while its sender waits. */
const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Throws Refusal 400 or 413 for a body that cannot be read. */
export async function prepareBody(
  received: ReceivedBody,
  rules: RuleSet,
  pods: PodLookup,
): Promise<PreparedBody> {
  const { signal, encoding, isJson } = received;
  const unpacked = unpack(received.body, encoding, ingestUnpackedBytesMax);
  const changed = isJson
    ? changeJson(unpacked, received, rules, pods)
    : changeProtobuf(unpacked, received, rules, pods);
  const { dropped } = changed;
  if (changed.body === undefined) return { outgoing: undefined, dropped };
  const description = {
    path: `/v1/${signal}`,
    contentType: isJson ? jsonType : protobufType,
    key: makeKey(received),
  };
  if (!changed.isChanged) {
    return { outgoing: { ...description, contentEncoding: encoding, body: received.body }, dropped };
  }
  const isPacked = changed.body.length >= packBytesMin;
  const body = isPacked ? await compress(changed.body, packing) : changed.body;
  return { outgoing: { ...description, contentEncoding: isPacked ? "zstd" : "identity", body }, dropped };
}

function changeProtobuf(
  unpacked: Uint8Array,
  { signal, peer }: ReceivedBody,
  rules: RuleSet,
  pods: PodLookup,
): ChangedBody {
  const fields = rules.fieldsOf(signal);
  const { body, dropped } = filterProtobuf(enrichProtobuf(unpacked, peer, pods), signal, fields);
  const byRule = new Map<string, number>();
  for (const [i, records] of dropped.entries()) {
    const { rule } = fields.exclusions[i]!;
    if (records > 0) byRule.set(rule, (byRule.get(rule) ?? 0) + records);
  }
  return { body, isChanged: body !== unpacked, dropped: byRule };
}

function changeJson(
  unpacked: Uint8Array,
  { signal, peer }: ReceivedBody,
  rules: RuleSet,
  pods: PodLookup,
): ChangedBody {
  const { buffer, byteOffset, byteLength } = unpacked;
  const json = new JsonBody(Buffer.from(buffer, byteOffset, byteLength), signal);
  json.enrich(peer, pods);
  const dropped = json.filter(rules.fieldsOf(signal));
  return { body: json.isChanged ? json.encode() : unpacked, isChanged: json.isChanged, dropped };
}

/**
 * The same for a body that its sender sends again, whatever the rules are by then. Equal bodies of two senders have
 * different keys.
 */
function makeKey({ signal, peer, key, body }: ReceivedBody): string {
  const hash = createHash("sha256").update(JSON.stringify([signal, peer ?? "", key ?? null]));
  if (key === undefined) hash.update(body);
  return hash.digest("base64url");
}
