import { defineConfig } from "vitest/config";
import { bundledProgram } from "./test/server/bundled-program.ts";

/** The long forms of the tests that take random ways: the same files, many more cases. */
export default defineConfig({
  plugins: [bundledProgram()],
  test: {
    environment: "node",
    include: [
      "test/durability/**/*.test.ts",
      "test/engine/lmdb/open-file.test.ts",
      "test/engine/{aggregate,kernels,scan,scatter,summary,template}/**/*.test.ts",
      "test/query/{editing,oracle,ordered,parse,series}/**/*.test.ts",
      "test/server/control/{api,managed-matrix,members}.test.ts",
      "test/server/access/{refusal-timing,row-fate}.test.ts",
      "test/server/{alerts,notify}/**/*.test.ts",
      "test/server/model/exclusion.test.ts",
      "test/kubernetes/gateway/{exclusion,disk-buffer}.test.ts",
      "test/kubernetes/exporter/outage.test.ts",
      "test/kubernetes/hub/access-matrix.test.ts",
      "test/kubernetes/node/tail-model.test.ts",
      "test/server/{killed-server,mutated-requests,search/tail-random}.test.ts",
      "test/server/ingest/{json,otlp}/*.test.ts",
      "test/server/ingest/{loki-push,mutated-bodies,hostile/hostile-{senders,values}}.test.ts",
      "test/server/load/*.test.ts",
      "test/server/http/hostile-http.test.ts",
      "test/server/campaign/*.test.ts",
    ],
    pool: "forks",
    setupFiles: ["test/seeded.ts"],
    // A second, which is the default, is too short for a page on a machine that others use.
    expect: { poll: { timeout: 15_000 } },
    env: { SVC_SOAK: "1" },
    testTimeout: 14_400_000,
    hookTimeout: 600_000,
    // One file after the other: the figures of a campaign stand together, and crashes come at a pace of their own.
    fileParallelism: false,
  },
});
