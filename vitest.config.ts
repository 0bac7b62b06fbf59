import { defineConfig } from "vitest/config";
import { bundledProgram } from "./test/server/bundled-program.ts";

export default defineConfig({
  plugins: [bundledProgram()],
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    pool: "forks",
    setupFiles: ["test/seeded.ts"],
    // A second, which is the default, is too short for a page on a machine that others use.
    expect: { poll: { timeout: 15_000 } },
    globalSetup: ["test/page/build-page.ts"],
    // Half of the time is waiting for processes that start and stop, so that two files at once pay on two cores.
    maxWorkers: 2,
    // Tests that start processes and stop them wait for a machine that others use, too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
