/** Addresses of senders, as sockets give them: bytes in hex. */

/** IPv4 within IPv6 (RFC 4291, 2.5.5.2). */
const mapped = /^0{20}ffff(?=.{8}$)/;

/** What one sender has for itself: an IPv4 address, or the 64 bits of an IPv6 network, within which addresses cost nothing. */
export function network(address: string): string {
  const bare = address.replace(mapped, "");
  return bare.length === 32 ? bare.slice(0, 16) : bare;
}

/** As people write it. */
export function addressText(address: string): string {
  const bare = address.replace(mapped, "");
  if (bare.length === 8)
    return [...bare.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16)).join(".");
  return bare.replace(/....(?=.)/g, "$&:").replace(/(?<=^|:)0{1,3}/g, "");
}
