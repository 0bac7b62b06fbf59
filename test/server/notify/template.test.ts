import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fillBody, fillHeader, fillUrl } from "../../../server/notify/message/template.ts";
import { variablesOf } from "../../../server/notify/message/variables.ts";
import { fired, firedAtMs, resolved } from "./events.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const publicUrl = "https://svc.example";
const evil = [
  '"}',
  '", "admin": true, "x": "',
  "a\nb",
  "$alert_name",
  "%0d%0aX: 1",
  "a\r\nX-Evil: 1",
  "a&b=c#d?e/f",
  "\u2028",
  "\\",
  "€ 😀",
];

describe(`variables (SVC_SEED=${seed})`, () => {
  test("each has its value; unknown ones stay", () => {
    const text = fillBody(
      "$alert_name|$alert_description|$alert_uuid|$alert_state|$service|$fired_at|$resolved_at|$breaching_datapoint_value|$breaching_datapoint_time|$metric_name|$attributes|$unknown|$alert_names|$deep_link|$",
      "text/plain",
      variablesOf(resolved("cart"), publicUrl),
    );
    expect(text.split("|")).toEqual([
      ...["Too many errors", "Errors of the shop", "alert-1", "resolved", "cart"],
      ...[new Date(firedAtMs).toISOString(), new Date(firedAtMs + 300_000).toISOString(), "42"],
      ...[
        new Date(firedAtMs - 60_000).toISOString(),
        "logs",
        '{"service.name":"cart"}',
        "$unknown",
        "$alert_names",
      ],
      ...[expect.stringMatching(/^https:\/\/svc\.example\/alerts\/alert-1\?fire=/) as string, "$"],
    ]);
  });

  test.each(evil)("%j stays inside its field in URL, header and body", (alertName) => {
    const variables = variablesOf(fired("cart", { alertName }), publicUrl);
    const body = JSON.parse(
      fillBody('{"name": "<$alert_name>", "raw": $alert_name, "all": $attributes}', undefined, variables),
    ) as object;
    expect(body).toEqual({ name: `<${alertName}>`, raw: alertName, all: { "service.name": "cart" } });
    const url = fillUrl("https://hooks.example/a/$alert_name/b?name=$alert_name&end=1", variables);
    expect(url.host).toBe("hooks.example");
    expect([...url.searchParams]).toEqual([
      ["name", alertName],
      ["end", "1"],
    ]);
    expect(url.pathname.split("/")).toHaveLength(4);
    expect(decodeURIComponent(url.pathname.split("/")[2]!)).toBe(alertName);
    expect(fillHeader("x $alert_name y", variables)).not.toMatch(/[\r\n\u0100-\uffff]/);
    const form = new URLSearchParams(
      fillBody("name=$alert_name&end=1", "application/x-www-form-urlencoded", variables),
    );
    expect([...form]).toEqual([
      ["name", alertName],
      ["end", "1"],
    ]);
  });

  test("any value stays inside a JSON body", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (alertName) => {
        const variables = variablesOf(fired("cart", { alertName }), publicUrl);
        expect(JSON.parse(fillBody('{"a\\"$alert_name": ["$alert_name"]}', undefined, variables))).toEqual({
          [`a"${alertName}`]: [alertName],
        });
      }),
      { seed },
    );
  });

  test.each([".", "..", "%2e%2e", "../../admin"])("%j does not lead to another path", (alertName) => {
    const variables = variablesOf(fired("cart", { alertName }), publicUrl);
    let path = "refused";
    try {
      path = fillUrl("https://hooks.example/a/$alert_name/b", variables).pathname;
    } catch {
      expect(alertName).toMatch(/^\.+$/);
    }
    expect(path).toMatch(/^refused$|^\/a\/[^/]+\/b$/);
  });
});
