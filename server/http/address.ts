/** Addresses of clients, as sockets give them: bytes in hex. */

import { isIPv4, isIPv6 } from "node:net";

/** Prefix of an IPv4 address within IPv6 (RFC 4291, 2.5.5.2). */
const mappedPrefix = /^0{20}ffff(?=.{8}$)/;

/**
 * The key for rate limits: an IPv4 address, or the 64-bit network of an IPv6 address, whose single addresses cost
 * nothing.
 */
export function networkOf(address: string): string {
  const unmapped = address.replace(mappedPrefix, "");
  return unmapped.length === 32 ? unmapped.slice(0, 16) : unmapped;
}

/** The bytes of an address in hex, from its usual notation; "" for what is none. */
export function addressBytes(text: string): string {
  if (isIPv4(text)) return Buffer.from(text.split(".").map(Number)).toString("hex");
  const plain = text.replace(/%.*$/, "");
  if (!isIPv6(plain)) return "";
  const groups = plain.replace(/[\d.]+$/, (tail) => (isIPv4(tail) ? groupsOfIPv4(tail) : tail));
  const [before = "", after] = groups.split("::").map((part) =>
    part
      .split(":")
      .filter((group) => group !== "")
      .map((group) => group.padStart(4, "0"))
      .join(""),
  );
  return after === undefined ? before : before + after.padStart(32 - before.length, "0");
}

function groupsOfIPv4(text: string): string {
  const hex = addressBytes(text);
  return `${hex.slice(0, 4)}:${hex.slice(4)}`;
}

/** The address in the usual notation, for messages. */
export function addressText(address: string): string {
  const unmapped = address.replace(mappedPrefix, "");
  if (unmapped.length === 8)
    return [...unmapped.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16)).join(".");
  return unmapped.replace(/....(?=.)/g, "$&:").replace(/(?<=^|:)0{1,3}/g, "");
}
