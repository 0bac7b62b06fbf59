/** Numbers with a unit, read by plain loops from the reference. */

const amount = /^(\d+(\.\d*)?|\.\d+)$/;
const lengths: Record<string, number> = {
  ...{ ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 36e11, d: 864e11, w: 6048e11 },
  y: 365 * 864e11,
};

/** The nanoseconds of a duration such as `1h30m`, or the bytes of `1.5 KiB`; undefined for other texts. */
export function quantityOf(text: string, unit: "ns" | "bytes"): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  let rest = text.replace(/^[+-]/, "");
  if (unit === "bytes") {
    const [, number, power, i, b] = /^([\d.]+) ?([kmgtpe]?)(i?)(b?)$/i.exec(rest) ?? [];
    if (number === undefined || !amount.test(number)) return undefined;
    if ((i !== "" && power === "") || (i === "" && b === "")) return undefined;
    return (
      sign * Number(number) * (i === "" ? 1000 : 1024) ** ("kmgtpe".indexOf(power!.toLowerCase() || "?") + 1)
    );
  }
  let total = 0;
  while (rest !== "") {
    const [whole, number, word] = /^([\d.]+)([a-zµμ]+)/.exec(rest) ?? [];
    const length = lengths[word ?? ""];
    if (whole === undefined || length === undefined || !amount.test(number!)) return undefined;
    total += Math.round(Number(number) * length);
    rest = rest.slice(whole.length);
  }
  return /\d/.test(text) ? sign * total : undefined;
}

/** Compares a label's text with a bound that has a unit; undefined where the bound has none. */
export function compareQuantities(text: string, sign: string, bound: string): boolean | undefined {
  for (const unit of ["ns", "bytes"] as const) {
    const right = quantityOf(bound, unit);
    if (right === undefined) continue;
    const left = quantityOf(text, unit);
    if (left === undefined) return false;
    if (sign.startsWith(">")) return left > right || (sign === ">=" && left === right);
    return left < right || (sign === "<=" && left === right);
  }
  return undefined;
}
