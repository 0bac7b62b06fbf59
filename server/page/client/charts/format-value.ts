/** Values as people read them. */

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

/** `1.25K`, `0.0034`, `–` for a value that is missing. */
export function formatValue(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(2);
  if (Math.abs(value) >= 10_000) return compact.format(value);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}
