/** The kinds of resources that the settings show: their paths, columns, and the fields of their forms. */

/** A resource as the server answers with it. */
export type Resource = Record<string, unknown>;

/** One field of a form. `name` is the member of the resource. */
export interface FormField {
  name: string;
  label: string;
  hint?: string;
  /**
   * `names`: a list of texts; `headers`: an object of texts, `Name: value` a line; `json`: anything else, as it is
   * written in the API.
   */
  type: "text" | "names" | "choice" | "longText" | "headers" | "json";
  choices?: readonly string[];
  /** Where true, the field is offered only when the resource is made. */
  isFixed?: boolean;
  /** Shown only where the resource is so. */
  when?: (resource: Resource) => boolean;
}

export interface SettingsKind {
  /** The path of its list below /api/v1, and the member of the answer. */
  path: string;
  plural: string;
  singular: string;
  title: string;
  /** What is said where there is none. */
  empty: string;
  /** The member that identifies a resource. */
  id: "id" | "name";
  /** Where it is made; with `PUT <path>/<id>` it is replaced. */
  createPath: string;
  canEdit: boolean;
  /** What it takes to change it. */
  permission: string;
  columns: readonly { name: string; title: string; show(resource: Resource): string }[];
  fields: readonly FormField[];
  /** What a new one begins with. */
  blank: Resource;
  /** What deleting one means. */
  onDelete: string;
  /** The counter of /metrics that counts for each of them, by its label `rule`, and what it counts. */
  counter?: { name: string; title: string };
}

/** `telemetry rule` of `telemetryRule`. */
export function nameOf({ singular }: SettingsKind): string {
  return singular.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const listed = (value: unknown) => (Array.isArray(value) ? value.join(", ") : "");
const text = (value: unknown) => (value === undefined || value === null ? "" : String(value));
const column = (name: string, title: string) => ({
  name,
  title,
  show: (resource: Resource) => text(resource[name]),
});

interface Grant {
  signals?: string[];
  resources?: string[];
  verbs?: string[];
  path?: string;
  match?: { matchExpressions?: { key: string; operator: string; values?: string[] }[] };
}

/** `logs, traces where service.name In cart`. */
function nameGrants(value: unknown): string {
  return ((value ?? []) as Grant[])
    .map(({ signals, resources, verbs, path, match }) => {
      const expressions = (match?.matchExpressions ?? []).map(
        ({ key, operator, values = [] }) => `${key} ${operator} ${values.join(" | ")}`,
      );
      const what = signals !== undefined ? listed(signals) : `${listed(verbs)} ${listed(resources)}`;
      const where = path === undefined ? "" : ` in ${path}`;
      return `${what}${where}${expressions.length === 0 ? "" : ` where ${expressions.join(" and ")}`}`;
    })
    .join("; ");
}

const grantColumn = {
  name: "rules",
  title: "Rules",
  show: (resource: Resource) => nameGrants(resource.rules),
};
const isOfNamespace = (resource: Resource) => resource.type === "namespace";

export const environments: SettingsKind = {
  ...{ path: "/environments", plural: "environments", singular: "environment", title: "Environments" },
  empty:
    "There are none. An environment is a cluster, say; its token stamps its name on all rows that it sends.",
  ...{ id: "name", createPath: "/environments/create", canEdit: false, permission: "manage tokens" },
  columns: [column("name", "Name")],
  fields: [{ name: "name", label: "Name", hint: "Such as prod", type: "text" }],
  blank: { name: "" },
  onDelete:
    "Its tokens are refused from now on: what sends rows with them stops. What Kubernetes manages in its cluster is deleted here, too. Stored rows stay.",
};

export const groups: SettingsKind = {
  ...{ path: "/groups", plural: "groups", singular: "group", title: "Groups" },
  empty: "There are none. Members of a group see what rules grant to it, and nothing else.",
  ...{ id: "name", createPath: "/groups", canEdit: true, permission: "manage access" },
  columns: [
    column("name", "Name"),
    column("role", "Role"),
    {
      name: "oidcMappings",
      title: "Of the identity provider",
      show: ({ oidcMappings }) => listed(oidcMappings),
    },
  ],
  fields: [
    { name: "name", label: "Name", type: "text", isFixed: true },
    {
      ...{ name: "role", label: "Role of users of the identity provider", type: "choice" },
      choices: ["viewer", "editor", "admin"],
    },
    {
      ...{ name: "oidcMappings", label: "Groups of the identity provider", type: "names" },
      hint: "Names with commas; whoever is in one of them is a member",
    },
  ],
  blank: { name: "", role: "viewer" },
  onDelete: "Tokens and users that were members see what their other groups grant.",
};

const bounds: readonly FormField[] = [
  { name: "displayName", label: "Name", type: "text" },
  { name: "type", label: "Holds for", type: "choice", choices: ["cluster", "namespace"] },
  { name: "cluster", label: "Cluster", hint: "Empty: every one", type: "text" },
  { name: "namespace", label: "Namespace", type: "text", when: isOfNamespace },
  { name: "groups", label: "Groups", hint: "Names with commas", type: "names" },
];
const boundColumns = [
  { name: "name", title: "Name", show: ({ displayName, id }: Resource) => text(displayName ?? id) },
  { name: "groups", title: "Groups", show: ({ groups: names }: Resource) => listed(names) },
  {
    name: "place",
    title: "Of",
    show: ({ cluster, namespace }: Resource) =>
      [
        namespace === undefined ? "" : `namespace ${namespace}`,
        cluster === undefined ? "all clusters" : `cluster ${cluster}`,
      ]
        .filter((part) => part !== "")
        .join(", "),
  },
  grantColumn,
];

export const telemetryRules: SettingsKind = {
  ...{ path: "/telemetry-rules", plural: "telemetryRules", singular: "telemetryRule" },
  title: "Telemetry rules: which rows groups read",
  empty: "There are none: everybody with a token reads all rows.",
  ...{ id: "id", createPath: "/telemetry-rules", canEdit: true, permission: "manage access" },
  columns: boundColumns,
  fields: [
    ...bounds,
    {
      ...{ name: "rules", label: "Rules", type: "json" },
      hint: '[{"signals": ["logs"], "match": {"matchExpressions": [{"key": "service.name", "operator": "In", "values": ["cart"]}]}}]',
    },
  ],
  blank: { type: "cluster", groups: [], rules: [{ signals: ["logs", "traces", "metrics"] }] },
  onDelete: "Its groups no longer read what only this rule grants.",
};

export const resourceRules: SettingsKind = {
  ...{ path: "/resource-rules", plural: "resourceRules", singular: "resourceRule" },
  title: "Resource rules: what groups may do with what Kubernetes manages",
  empty: "There are none.",
  ...{ id: "id", createPath: "/resource-rules", canEdit: true, permission: "manage access" },
  columns: boundColumns,
  fields: [
    ...bounds,
    {
      ...{ name: "rules", label: "Rules", type: "json" },
      hint: '[{"resources": ["alerts", "dashboards"], "verbs": ["read", "update"]}]',
    },
  ],
  blank: { type: "cluster", groups: [], rules: [{ resources: ["alerts", "dashboards"], verbs: ["read"] }] },
  onDelete: "Its groups no longer may do what only this rule grants.",
};

export const ingestionRules: SettingsKind = {
  ...{ path: "/ingestion-rules", plural: "ingestionRules", singular: "ingestionRule" },
  title: "Ingestion rules: what is not stored",
  empty: "There are none: every row that is sent is stored.",
  ...{ id: "id", createPath: "/ingestion-rules", canEdit: true, permission: "configure" },
  columns: [
    { name: "name", title: "Name", show: ({ displayName, id }) => text(displayName ?? id) },
    { name: "cluster", title: "Environment", show: ({ cluster }) => text(cluster ?? "all") },
    grantColumn,
  ],
  fields: [
    { name: "displayName", label: "Name", type: "text" },
    { name: "cluster", label: "Environment", hint: "Empty: every one", type: "text" },
    {
      ...{ name: "rules", label: "Rules", type: "json" },
      hint: '[{"signals": ["logs"], "action": "Exclude", "match": {"matchExpressions": [{"key": "http.route", "operator": "RegexIn", "values": ["^/health"]}]}}]',
    },
  ],
  blank: {
    rules: [
      {
        ...{ signals: ["logs"], action: "Exclude" },
        match: { matchExpressions: [{ key: "log_level", operator: "In", values: ["debug"] }] },
      },
    ],
  },
  onDelete: "What it left out is stored from now on.",
  counter: { name: "svc_ingest_dropped_rows_total", title: "Rows left out since the server started" },
};

export const webhooks: SettingsKind = {
  ...{ path: "/webhooks", plural: "webhooks", singular: "webhook", title: "Webhooks" },
  empty: "There are none. Alerts send their events to webhooks.",
  ...{ id: "id", createPath: "/webhooks", canEdit: true, permission: "configure" },
  columns: [
    { name: "name", title: "Name", show: ({ displayName, id }) => text(displayName ?? id) },
    column("url", "Address"),
    { name: "signed", title: "Signed", show: ({ hasSecret }) => (hasSecret === true ? "yes" : "") },
  ],
  fields: [
    { name: "displayName", label: "Name", type: "text" },
    { name: "url", label: "Address", hint: "Variables such as $alert_name may stand in it", type: "text" },
    { name: "method", label: "Method", type: "choice", choices: ["POST", "PUT", "PATCH", "GET", "DELETE"] },
    { name: "headers", label: "Headers", hint: "Name: value, one of them a line", type: "headers" },
    { name: "body", label: "Body", hint: "Empty: the event as JSON", type: "longText" },
    { name: "secret", label: "Signing secret", hint: "whsec_…; empty: the one before", type: "text" },
  ],
  blank: { url: "https://", method: "POST" },
  onDelete: "What still waits for it is given up.",
};
