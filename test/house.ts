/** The layout of the project as data: `tidy.test.ts` holds the sources against it. */

/** Which layers each layer may import. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  query: ["engine"],
  server: ["engine", "query"],
  fixtures: ["engine"],
  bench: ["engine", "query", "server", "fixtures"],
  test: ["engine", "query", "server", "fixtures", "bench"],
};

/** Files at a layer's own level that its folders may import. */
export const sharedFiles: Readonly<Record<string, readonly string[]>> = {
  engine: ["failure.ts", "limits.ts"],
  query: ["limits.ts"],
  server: ["service.ts"],
  "server/page/client": [],
};

/** Which folders of its layer each folder may import. */
export const arrows: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  engine: {
    // What everything else is made of.
    model: [],
    files: [],
    vector: [],
    kernels: ["vector"],
    plan: ["model", "vector"],
    // Rows to bytes and back.
    template: ["files", "kernels", "vector"],
    regexp: ["kernels", "template", "vector"],
    extract: ["plan", "regexp"],
    column: ["files", "kernels", "template", "vector"],
    chunk: ["column", "files", "kernels", "model", "plan", "template", "vector"],
    metrics: ["chunk", "column", "files", "kernels", "model", "vector"],
    batch: ["chunk", "column", "files", "kernels", "metrics", "model", "vector"],
    // Where bytes are kept.
    lmdb: ["files"],
    journal: ["files", "model"],
    partition: ["batch", "chunk", "files", "journal", "lmdb", "model", "threads"],
    state: ["files", "lmdb", "model", "threads"],
    // How a query is answered.
    filter: ["chunk", "column", "extract", "kernels", "model", "plan", "regexp", "template", "vector"],
    summary: ["chunk", "column", "files", "filter", "model", "plan", "regexp", "template", "vector"],
    aggregate: ["chunk", "column", "filter", "kernels", "model", "plan", "summary", "vector"],
    scan: [
      "aggregate",
      "chunk",
      "column",
      "filter",
      "kernels",
      "lmdb",
      "model",
      "partition",
      "plan",
      "summary",
      "vector",
    ],
    series: ["aggregate", "chunk", "column", "filter", "metrics", "model", "plan", "vector"],
    // What runs where.
    threads: [],
    maintenance: ["chunk", "files", "journal", "lmdb", "metrics", "model", "partition", "threads"],
    inspect: ["batch", "chunk", "files", "journal", "lmdb", "model", "partition", "state"],
    backup: [
      ...["chunk", "files", "inspect", "journal", "lmdb", "maintenance", "model", "partition"],
      ...["scan", "state", "threads"],
    ],
    worker: [
      ...["aggregate", "backup", "chunk", "maintenance", "plan", "scan", "series"],
      ...["summary", "threads"],
    ],
    scatter: [
      ...["aggregate", "chunk", "filter", "metrics", "model", "partition", "plan", "scan", "series"],
      ...["summary", "threads", "vector", "worker"],
    ],
  },
  query: {
    text: [],
    tree: ["text"],
    parse: ["text", "tree"],
    plan: ["parse", "text", "tree"],
    time: [],
    warning: ["plan", "text", "time"],
    explanation: ["plan"],
    ordered: ["plan", "time"],
    search: ["explanation", "ordered", "plan", "text", "time", "warning"],
    series: ["explanation", "ordered", "plan", "text", "time", "warning"],
    comparison: ["ordered", "plan", "time", "warning"],
    graph: ["ordered", "plan", "time", "warning"],
    listing: ["ordered", "parse", "plan", "text", "time", "tree", "warning"],
    editing: ["parse", "text", "tree"],
  },
  server: {
    text: [],
    throttle: [],
    metrics: [],
    model: ["throttle", "text"],
    access: ["throttle", "model", "text"],
    api: ["throttle", "model", "text"],
    storage: ["api"],
    control: ["access", "api", "throttle", "model", "storage"],
    "sign-in": ["access", "api", "control", "throttle", "metrics", "model", "storage"],
    http: ["access", "api", "control", "throttle", "metrics", "model", "text"],
    ingest: ["api", "control", "throttle", "metrics", "model", "storage", "text"],
    search: ["access", "api", "control", "throttle", "metrics", "model", "storage", "text"],
    notify: ["access", "api", "control", "throttle", "metrics", "model", "storage"],
    alerts: ["access", "api", "control", "throttle", "metrics", "model", "notify", "search", "storage"],
    investigate: [
      ...[
        "access",
        "alerts",
        "api",
        "control",
        "metrics",
        "model",
        "notify",
        "search",
        "storage",
        "text",
        "throttle",
      ],
    ],
    operations: ["access", "api", "control", "throttle", "metrics", "model", "storage"],
    page: ["api", "throttle"],
    kubernetes: ["api", "control", "ingest", "metrics", "model", "text", "throttle"],
    command: ["alerts", "api", "ingest", "kubernetes", "model", "operations", "text"],
  },
  // The page in the browser.
  "server/page/client": {
    browser: [],
    api: [],
    ui: ["api"],
    time: ["browser", "ui"],
    query: ["api"],
    charts: ["api", "browser", "time", "ui"],
    found: ["api", "browser", "query", "time"],
    rows: ["api", "found", "query", "time", "ui"],
    search: ["api", "browser", "charts", "dashboards", "found", "query", "rows", "time", "ui"],
    traces: ["api", "browser", "query", "time", "ui"],
    alerts: ["api", "browser", "charts", "query", "time", "ui"],
    metrics: ["api", "browser", "charts", "dashboards", "query", "time", "ui"],
    dashboards: ["api", "browser", "charts", "query", "time", "ui"],
    settings: ["api", "browser", "charts", "time", "ui"],
    investigations: ["api", "browser", "time", "traces", "ui"],
    app: [
      "alerts",
      "api",
      "browser",
      "dashboards",
      "investigations",
      "metrics",
      "search",
      "settings",
      "time",
      "traces",
      "ui",
    ],
  },
};

/** Folders hold at most this many files, so that a listing is read at a glance. */
export const folderFilesMax = 25;
export const fileLinesMax = 400;
