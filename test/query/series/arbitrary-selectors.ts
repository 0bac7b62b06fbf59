/** Random selectors of rows as text, of few values, so that they often match rows of the random data. */
import fc from "fast-check";

export type Texts = fc.Arbitrary<string>;
export const oneOf = (...texts: string[]): Texts => fc.constantFrom(...texts);

/** Mostly no text or one, so that queries do not exclude all rows. */
function arbitraryFew(texts: readonly string[]): fc.Arbitrary<string[]> {
  const some = (maxLength: number) => fc.uniqueArray(fc.constantFrom(...texts), { maxLength });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant<string[]>([]) },
    { weight: 3, arbitrary: some(1) },
    some(2),
  );
}

/** A selector with a few of the matchers. */
export function arbitraryBraces(name: Texts, matchers: readonly string[]): Texts {
  return fc
    .tuple(name, arbitraryFew(matchers))
    .map(([signal, own]) => (own.length === 0 ? signal : `${signal}{${own.join(", ")}}`));
}

function arbitraryStages(selector: Texts, stages: readonly string[]): Texts {
  return fc.tuple(selector, arbitraryFew(stages)).map((parts) => parts.flat().join(" "));
}

const times = fc
  .tuple(
    oneOf("", " [5m]", " [97s]", " [2s500ms]", " [1h30m]", " [1m]"),
    oneOf("", "", " offset 10m", " offset 13s"),
  )
  .map((parts) => parts.join(""));

/** Some selectors with a window, an offset, or both. */
export function withTimes(selector: Texts): Texts {
  return fc
    .tuple(selector, fc.oneof({ weight: 6, arbitrary: fc.constant("") }, { weight: 1, arbitrary: times }))
    .map((parts) => parts.join(""));
}

const lineFilters = ['|= "GET"', '!= "refused"', '|~ "[0-9]+$"', '!~ "^GET"', '|= i"CART" or "took"'];
export const logs = arbitraryStages(
  arbitraryBraces(oneOf("logs"), [
    'service="web"',
    'service!="web"',
    'service=~"w.*|db"',
    'service!~"(?i)web"',
    'service="*"',
    'service!="*"',
    'log_level="ERROR"',
    'log_level=~"err.*|info"',
    "ms>5",
    "ms<=12",
    'status=""',
    'message=~"pay|cart"',
  ]),
  [
    ...lineFilters,
    "| json",
    "| logfmt",
    '| status >= 400 or service = "db"',
    "| took > 5",
    "| logfmt | wait > 20ms",
    "| logfmt | size <= 1.5KiB",
  ],
);
export const traces = arbitraryStages(
  arbitraryBraces(oneOf("traces"), [
    'service="web"',
    'name=~"GET.*|select"',
    "duration_ms>1000",
    "duration_ms<=2",
    "duration_ms>1.5s",
    'parent_span_id=""',
    'parent_span_id!="*"',
    'status_code!="ok"',
    'kind!~"s.*"',
  ]),
  ['|= "GET"', '!= "SELECT"', '|~ "(?i)select"', '| http.status >= 300, service != "db"'],
);
export const resources = arbitraryStages(
  arbitraryBraces(oneOf("kubernetes_resources"), [
    'k8s.resource.name="cart"',
    'k8s.namespace.name=~"sh.*"',
    'k8s.cluster.name!="c1"',
    'k8s.cluster.name!="*"',
  ]),
  ['|= "replicas"', '!= "no json"'],
);
export const profiles = arbitraryStages(
  arbitraryBraces(oneOf("profiles"), ['type="cpu"', 'body="heap 2"', 'message!=""', 'service!="*"']),
  ['|= "1"'],
);
