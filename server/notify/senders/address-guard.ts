/** Addresses that messages must not be sent to: those of this machine and of the networks around it. */
import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { NotReached } from "./sender.ts";

const refusedIpv4: readonly [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Of IPv6, only global unicast is allowed, except for `refusedIpv6`. */
const globalIpv6: [string, number] = ["2000::", 3];
/** Global unicast that may hold an IPv4 address (Teredo in 2001::/23, 6to4) or is reserved (documentation). */
const refusedIpv6: readonly [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const mappedIpv4: [string, number] = ["::ffff:0:0", 96];

/** Finds all addresses of a name, as `dns.lookup` does with `all`. */
export type Resolve = (
  name: string,
  answer: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void;

export class RefusedAddress extends NotReached {}

export class AddressGuard {
  readonly #allowed = new BlockList();
  readonly #refused = new BlockList();
  readonly #global = new BlockList();
  readonly #mapped = new BlockList();
  readonly #resolve: Resolve;

  /**
   * `allowed`: addresses, or networks such as `10.1.0.0/16`, to which messages may be sent although they are refused
   * otherwise. Throws an Error for a text that is neither.
   */
  constructor(allowed: readonly string[] = [], resolve: Resolve = resolveAll) {
    for (const network of allowed) addNetwork(this.#allowed, network);
    for (const [address, bits] of refusedIpv4) this.#refused.addSubnet(address, bits, "ipv4");
    for (const [address, bits] of refusedIpv6) this.#refused.addSubnet(address, bits, "ipv6");
    this.#global.addSubnet(...globalIpv6, "ipv6");
    this.#mapped.addSubnet(...mappedIpv4, "ipv6");
    this.#resolve = resolve;
  }

  /** Returns whether messages may be sent to this address. */
  allows(address: string): boolean {
    const bare = address.replace(/%.*$/, "");
    const family = isIPv6(bare) ? "ipv6" : "ipv4";
    if (isIP(bare) === 0) return false;
    if (this.#allowed.check(bare, family)) return true;
    if (this.#refused.check(bare, family)) return false;
    // An IPv4-mapped IPv6 address follows the rules of IPv4, which the check of `#refused` has applied.
    return family === "ipv4" || this.#mapped.check(bare, "ipv6") || this.#global.check(bare, "ipv6");
  }

  /** Throws RefusedAddress for a URL whose host is a refused address. Host names are checked by `lookup`. */
  checkLiteral(url: URL): void {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !this.allows(host)) throw makeRefusedAddress(host);
  }

  /** Looks a name up for a connection, and checks its addresses: so DNS cannot change between check and connect. */
  readonly lookup: LookupFunction = (name, options, answer) => {
    this.#resolve(name, (error, addresses) => {
      if (error !== null) return answer(error, "", 0);
      const bad = addresses.find(({ address }) => !this.allows(address));
      if (bad !== undefined) return answer(makeRefusedAddress(`${name} (${bad.address})`), "", 0);
      const first = addresses[0];
      if (first === undefined) return answer(new Error(`${name} has no address`), "", 0);
      if (options.all === true) return answer(null, addresses);
      return answer(null, first.address, first.family);
    });
  };
}

function makeRefusedAddress(what: string): RefusedAddress {
  return new RefusedAddress(
    `${what} is an address of a private network or of this machine; the setting notify-allow can allow it`,
  );
}

function addNetwork(list: BlockList, network: string): void {
  const [address = "", bits] = network.split("/");
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  const whole = family === "ipv6" ? 128 : 32;
  const prefix = bits === undefined ? whole : Number(bits);
  if (isIP(address) === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > whole || bits === "") {
    throw new Error(`${JSON.stringify(network)} is no network such as 10.1.0.0/16`);
  }
  list.addSubnet(address, prefix, family);
}

const resolveAll: Resolve = (name, answer) => lookup(name, { all: true }, answer);
