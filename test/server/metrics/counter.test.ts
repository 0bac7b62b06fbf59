import { expect, test } from "vitest";
import { labelSetsMax, Metrics } from "../../../server/metrics/metrics.ts";

test("a counter's label sets are bounded: those beyond the bound count together", () => {
  const metrics = new Metrics();
  const counter = metrics.counter("svc_x_total", "X.");
  for (let i = 0; i < labelSetsMax + 5; i++) counter.add(2, { rule: `${i}`, signal: "logs" });
  counter.add(1, { rule: "0", signal: "logs" });
  expect(counter.samples()).toHaveLength(labelSetsMax + 1);
  expect(counter.samples().at(-1)).toEqual({
    suffix: "",
    labels: { rule: "other", signal: "other" },
    value: 10,
  });
  expect(counter.samples()[0]!.value).toBe(3);
});
