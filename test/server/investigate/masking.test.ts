/** What is masked in texts that go to a language model. */

import { expect, test } from "vitest";
import { maskText, maskValue } from "../../../server/investigate/narrative/masking.ts";

test.each([
  ["login of ann.b+c@shop.example failed", "login of <email> failed"],
  ["from 192.168.10.4:8080", "from <ip>:8080"],
  ["from fe80::1ff:fe23:4567:890a up", "from <ip> up"],
  ["password=hunter2, next", "password=<secret>, next"],
  ['{"db_password": "a b c", "x": 1}', '{"db_password": <secret>, "x": 1}'],
  [
    "Authorization: Bearer abcdefgh12345",
    "Authorization: <secret> abcdefgh12345".replace(" abcdefgh12345", " <secret>"),
  ],
  ["jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_", "jwt <token>"],
  ["postgres://shop:pa55@db:5432/orders", "postgres://<secret>@db:5432/orders"],
  ["card 4111 1111 1111 1111 refused", "card <number> refused"],
  ["call +49 170 1234567 back", "call <phone> back"],
  ["iban DE89 3704 0044 0532 0130 00", "iban <iban>"],
  ["key AKIAIOSFODNN7EXAMPLE in use", "key <token> in use"],
  ["order 0123456789abcdef0123 of 7f9c24e8-3b12-4fef-91e0-5a1b2c3d4e5f", "order <id> of <id>"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<key>"],
  ["value wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0", "value <secret>"],
])("%s", (text, masked) => {
  expect(maskText(text)).toBe(masked);
  expect(maskText(masked)).toBe(masked);
});

test.each([
  "GET /api/v1/carts/42 took 1234 ms at 12:34:56.789",
  "pod cart-7d9f6b5c4-x2x7q of /k8s/shop/cart restarted 3 times",
  "com.shop.cart.CartServiceImplementation.findByCustomer",
  "2026-01-29T12:00:00Z 100 % of the calls fail",
])("%s stays", (text) => expect(maskText(text)).toBe(text));

test("values under names of secrets go, whatever they are", () => {
  const value = { user: { password: 7, apiKey: ["x"], name: "a@b.example" }, count: 3 };
  expect(maskValue(value)).toEqual({
    user: { password: "<secret>", apiKey: "<secret>", name: "<email>" },
    count: 3,
  });
});

test("a long text is cut before a word of which only a part is left", () => {
  const text = `${"word ".repeat(399)}ann@shop.example ${"x".repeat(100_000)}`;
  const masked = maskText(text);
  expect(masked).toBe(`${"word ".repeat(399)}…`);
  expect(maskText(`password="${"a b ".repeat(1_000)}"`)).toBe("password=<secret>");
});
