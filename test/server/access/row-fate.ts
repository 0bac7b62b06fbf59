/**
 * A naive model of who may change what: rows are plain objects, all that there may be are listed, and a change is
 * allowed only if whoever makes it could read every row whose fate it changes. It shares no code with the server.
 */

export interface Row {
  signal: "logs" | "metrics";
  /** Empty for metrics. */
  level: string;
  /** Without those that a row lacks. */
  attributes: Readonly<Record<string, string>>;
}

/** Whoever changes or saved something, with the rights of this moment. */
export interface Person {
  id: string;
  role: "admin" | "editor" | "viewer" | "cluster";
  /** Null: no rules bind them. */
  groups: readonly string[] | null;
  /** The cluster that a "cluster" stands for. */
  cluster?: string;
}

export interface Grant {
  groups: readonly string[];
  cluster?: string;
  namespace?: string;
  signals: readonly string[];
  match: readonly { key: string; values: readonly string[] }[];
}

export interface Alert {
  id: string;
  saver: Person;
  isManaged: boolean;
  signal: Row["signal"];
  /** Rows have these values; "" stands for none. */
  where: Readonly<Record<string, string>>;
  /** Rows of the other operand of a calculation; undefined where the query has one operand. */
  other?: Readonly<Record<string, string>>;
  by: readonly string[];
  /** The query extracts attributes from messages: they count where a row has none of the name. */
  isExtracting: boolean;
  webhooks: readonly string[];
}

export interface Silence {
  saver: Person;
  /** Undefined: all alerts. */
  alertIds?: readonly string[];
  match: readonly { key: string; operator: "In" | "NotIn"; values: readonly string[] }[];
}

export interface Exclusion {
  cluster?: string;
  rules: readonly {
    signals: readonly string[];
    match: readonly { key: string; operator: "In" | "RegexIn"; values: readonly string[] }[];
  }[];
}

export interface World {
  grants: readonly Grant[];
  alerts: readonly Alert[];
  /** Groups whose members may update alerts that Kubernetes manages. */
  updaters: readonly string[];
}

export const domains: Readonly<Record<string, readonly string[]>> = {
  "k8s.namespace.name": ["", "shop", "pay", "shopping"],
  "service.name": ["", "/k8s/shop/cart", "/k8s/pay/db", "fresh"],
  environment: ["", "prod", "fresh"],
  "k8s.cluster.name": ["", "prod", "fresh"],
  team: ["", "one", "fresh"],
};

/** Every row that there may be: with each value that somebody names, with none, and with one that nobody names. */
const everyRow: readonly Row[] = (["logs", "metrics"] as const).flatMap((signal) => {
  let rows: Record<string, string>[] = [{}];
  for (const [key, values] of Object.entries(domains)) {
    rows = rows.flatMap((row) => values.map((value) => (value === "" ? row : { ...row, [key]: value })));
  }
  const levels = signal === "logs" ? ["error", "fresh"] : [""];
  return rows.flatMap((attributes) => levels.map((level) => ({ signal, level, attributes })));
});

function textOf(row: Row, key: string): string {
  if (key === "log_level" && row.signal === "logs") return row.level;
  return row.attributes[key] ?? "";
}

export function isFree({ role, groups }: Person): boolean {
  return role === "admin" || (role !== "cluster" && groups === null);
}

function canRead(row: Row, person: Person, grants: readonly Grant[]): boolean {
  if (isFree(person)) return true;
  if (person.role === "cluster") return row.attributes.environment === person.cluster;
  return grants.some((grant) => {
    if (!grant.groups.some((group) => person.groups!.includes(group))) return false;
    if (!grant.signals.includes(row.signal)) return false;
    const { environment, "k8s.cluster.name": cluster, "service.name": service } = row.attributes;
    if (grant.cluster !== undefined && (environment ?? cluster) !== grant.cluster) return false;
    const namespace = row.attributes["k8s.namespace.name"] ?? /^\/k8s\/([^/]*)\//.exec(service ?? "")?.[1];
    if (grant.namespace !== undefined && namespace !== grant.namespace) return false;
    return grant.match.every(({ key, values }) => values.includes(textOf(row, key)));
  });
}

/** Whether a person reads all that another reads, by their groups alone: what the rules say is not looked at. */
export function isContained(other: Person, person: Person): boolean {
  if (isFree(person)) return true;
  if (isFree(other) || other.role === "cluster") return false;
  if (other.id === person.id) return true;
  return other.groups!.length > 0 && other.groups!.every((group) => person.groups!.includes(group));
}

type Labels = Readonly<Record<string, string>>;

/** Labels of instances that an alert may have. */
export function instancesOf({ by }: Alert): Labels[] {
  let instances: Labels[] = [{}];
  for (const label of by) {
    instances = instances.flatMap((labels) =>
      domains[label]!.map((value) => ({ ...labels, [label]: value })),
    );
  }
  return instances;
}

/** Whether a row may be behind an instance. The labels of a calculation may be those of its other operand's rows. */
function isBehind({ by, isExtracting, other }: Alert, row: Row, labels: Labels): boolean {
  if (other !== undefined) return true;
  return by.every((label) => {
    const stored = textOf(row, label);
    return stored === labels[label] || (isExtracting && stored === "");
  });
}

/** The rows behind the instances of an alert that fit. */
export function readRows(alert: Alert, grants: readonly Grant[], fits = fitsAll): Row[] {
  const read = selectedRows(alert, grants);
  if (fits === fitsAll) return [...read];
  const fitting = instancesOf(alert).filter(fits);
  return read.filter((row) => fitting.some((labels) => isBehind(alert, row, labels)));
}

const fitsAll = (_: Labels) => true;
/** What each alert reads in its world. */
const selected = new WeakMap<Alert, readonly Row[]>();

function selectedRows(alert: Alert, grants: readonly Grant[]): readonly Row[] {
  const known = selected.get(alert);
  if (known !== undefined) return known;
  const { signal, where, other, saver } = alert;
  const passes = (row: Row, values: Readonly<Record<string, string>>) =>
    Object.entries(values).every(([key, value]) => textOf(row, key) === value);
  const read = everyRow.filter(
    (row) =>
      row.signal === signal &&
      (passes(row, where) || (other !== undefined && passes(row, other))) &&
      canRead(row, saver, grants),
  );
  selected.set(alert, read);
  return read;
}

/** Whether a silence covers an instance with these labels. */
export function covers({ match }: Pick<Silence, "match">, labels: Labels): boolean {
  return match.every(
    ({ key, operator, values }) => values.includes(labels[key] ?? "") === (operator === "In"),
  );
}

/** The rows that an ingestion rule leaves out. */
function droppedRows({ cluster, rules }: Exclusion): Row[] {
  return everyRow.filter((row) => {
    const { environment, "k8s.cluster.name": name } = row.attributes;
    if (cluster !== undefined && environment !== cluster && name !== cluster) return false;
    return rules.some(({ signals, match }) => {
      if (!signals.includes(row.signal)) return false;
      return match.every(({ key, operator, values }) => {
        const value = textOf(row, key);
        if (value === "") return false;
        return values.some((each) => (operator === "In" ? each === value : new RegExp(each).test(value)));
      });
    });
  });
}

export function canReadAll(rows: readonly Row[], person: Person, { grants }: World): boolean {
  const readable = readableRows(person, grants);
  return rows.every((row) => readable.has(row));
}

/** What each person may read in their world. */
const readableTo = new WeakMap<Person, ReadonlySet<Row>>();

function readableRows(person: Person, grants: readonly Grant[]): ReadonlySet<Row> {
  const known = readableTo.get(person);
  if (known !== undefined) return known;
  const rows = new Set(everyRow.filter((row) => canRead(row, person, grants)));
  readableTo.set(person, rows);
  return rows;
}

/** Whether silences of a person hold for the instances that fit: of a managed alert members need a rule besides. */
export function canSilence(person: Person, alert: Alert, world: World, fits: (labels: Labels) => boolean) {
  if (isFree(person)) return true;
  if (alert.isManaged && !world.updaters.some((group) => person.groups!.includes(group))) return false;
  return canReadAll(readRows(alert, world.grants, fits), person, world);
}

/** The rows whose fires a silence holds back, with the rights of whoever saved it. */
export function silencedRows(silence: Silence, world: World): Row[] {
  const named = world.alerts.filter(({ id }) => silence.alertIds?.includes(id) ?? true);
  return named.flatMap((alert) => {
    const held = instancesOf(alert).filter(
      (labels) =>
        covers(silence, labels) && canSilence(silence.saver, alert, world, (each) => isSame(each, labels)),
    );
    return readRows(alert, world.grants, (labels) => held.some((each) => isSame(each, labels)));
  });
}

function isSame(one: Labels, other: Labels): boolean {
  return Object.entries(one).every(([label, value]) => other[label] === value);
}

/** The rules that people read. An alert belongs to whoever is in all groups of its last saver. */
export const mayChange = {
  alert: (person: Person, alert: Alert) => isContained(alert.saver, person),
  webhook: (person: Person, id: string, world: World) =>
    world.alerts
      .filter(({ webhooks }) => webhooks.includes(id))
      .every((alert) => canReadAll(readRows(alert, world.grants), person, world)),
  /** Whether the person may save such a silence. */
  newSilence: (person: Person, silence: Silence, world: World) =>
    (silence.alertIds ?? []).every((id) => {
      const alert = world.alerts.find((each) => each.id === id);
      return alert === undefined || canSilence(person, alert, world, (labels) => covers(silence, labels));
    }),
  silence: (person: Person, silence: Silence, world: World) =>
    isContained(silence.saver, person) ||
    (silence.alertIds?.every((id) => {
      const alert = world.alerts.find((each) => each.id === id);
      return alert !== undefined && canSilence(person, alert, world, (labels) => covers(silence, labels));
    }) ??
      false),
  exclusion: (person: Person, exclusion: Exclusion, world: World) =>
    canReadAll(droppedRows(exclusion), person, world),
};
