/** Addresses of clients, as sockets give them: bytes in hex. */

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

/** The address in the usual notation, for messages. */
export function addressText(address: string): string {
  const unmapped = address.replace(mappedPrefix, "");
  if (unmapped.length === 8)
    return [...unmapped.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16)).join(".");
  return unmapped.replace(/....(?=.)/g, "$&:").replace(/(?<=^|:)0{1,3}/g, "");
}
