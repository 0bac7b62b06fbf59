/** Masks secrets and personal data in texts that leave the machine. */

/** The order matters: what is longer, and says more of itself, comes first. */
const masks: readonly [pattern: RegExp, mask: string][] = [
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, "<key>"],
  [/\b(?:eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)/g, "<token>"],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abpr]|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{12,}/g, "<token>"],
  [/\b(bearer|basic|token)\s+[\w.+/=~-]{8,}/gi, "$1 <secret>"],
  [
    /((?:passw(?:or)?d|pwd|secret|token|api[-_]?key|authorization|cookie|session[-_]?id|credential)[\w.-]*["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[^\s,;&}\])]+)/gi,
    "$1<secret>",
  ],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, "$1<secret>@"],
  [/[\w.%+-]+@[\w-]+(?:\.[\w-]+)+/g, "<email>"],
  [/\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b/g, "<iban>"],
  [/\b(?:\d[ -]?){12,18}\d\b/g, "<number>"],
  [/\b(?:\d{1,3}\.){3}\d{1,3}\b/g, "<ip>"],
  [
    /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:)+:(?:[0-9a-f]{1,4}:?)*/gi,
    "<ip>",
  ],
  [/(?<!\w)\+\d[\d ()/-]{7,}\d/g, "<phone>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<id>"],
  [/\b[0-9a-f]{16,}\b/gi, "<id>"],
  // Long texts of letters and digits are keys more often than words.
  [/(?<![\w/+-])(?=[\w+/-]*\d)(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])[A-Za-z0-9_+/-]{32,}={0,2}/g, "<secret>"],
];

/** Characters that are masked at most: the patterns take quadratic time on a long word. */
const lengthMax = 2_000;

/** The same text without them. A long text is cut. Masking a short text twice changes nothing more. */
export function maskText(text: string): string {
  // The last word may be a part of a secret that no pattern recognises.
  let masked = text.length <= lengthMax ? text : `${text.slice(0, lengthMax).replace(/\S+$/, "")}…`;
  for (const [pattern, mask] of masks) masked = masked.replace(pattern, mask);
  return masked;
}

/** The same value with each of its texts masked. */
export function maskValue(value: unknown): unknown {
  if (typeof value === "string") return maskText(value);
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isSecretName(key) ? "<secret>" : maskValue(each)]),
  );
}

function isSecretName(name: string): boolean {
  return /passw(?:or)?d|secret|api[-_]?key|authorization|cookie|credential/i.test(name);
}
