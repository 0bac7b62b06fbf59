/** Addresses of senders: what is one sender's own, and how people write it. */

import { expect, test } from "vitest";
import { addressBytes, addressText, networkOf } from "../../../server/http/address.ts";
import { RateLimiter, rateLimitedKeysMax } from "../../../server/throttle/rate-limiter.ts";

test.each([
  ["7f000001", "7f000001", "127.0.0.1"],
  ["00000000000000000000ffff0a000007", "0a000007", "10.0.0.7"],
  ["00000000000000000000000000000001", "0000000000000000", "0:0:0:0:0:0:0:1"],
  ["20010db8000000ff00000000000000a0", "20010db8000000ff", "2001:db8:0:ff:0:0:0:a0"],
  ["20010db8000000ff123456789abcdef0", "20010db8000000ff", "2001:db8:0:ff:1234:5678:9abc:def0"],
  ["", "", ""],
])("%s is of %s and is written %s", (bytes, own, text) => {
  expect([networkOf(bytes), addressText(bytes)]).toEqual([own, text]);
});

test.each([
  ["127.0.0.1", "7f000001"],
  ["::ffff:10.0.0.7", "00000000000000000000ffff0a000007"],
  ["::1", "00000000000000000000000000000001"],
  ["2001:db8:0:ff::a0", "20010db8000000ff00000000000000a0"],
  ["2001:db8::", "20010db8000000000000000000000000"],
  ["2001:db8:0:ff:1234:5678:9abc:def0", "20010db8000000ff123456789abcdef0"],
  ["fe80::1%eth0", "fe800000000000000000000000000001"],
  ["", ""],
  ["somewhere", ""],
])("%s has the bytes %s", (text, bytes) => {
  expect(addressBytes(text)).toBe(bytes);
});

test("a flood of addresses takes no more memory, and none is let off for it", () => {
  const bound = new RateLimiter({ perSecond: 1, burst: 2, what: "tries", elapsed: () => 0 });
  for (let i = 0; i < rateLimitedKeysMax - 1; i++) bound.spend(`a${i}`);
  bound.spend("b");
  bound.spend("b");
  expect(() => bound.spend("b")).toThrow("more than 1 tries a second");
  for (let i = 0; i < rateLimitedKeysMax - 1; i++) bound.spend(`c${i}`);
  expect(() => bound.spend("b")).toThrow("more than 1 tries a second");
});
