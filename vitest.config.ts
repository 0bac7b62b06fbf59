import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { bundledProgram } from "./test/server/bundled-program.ts";

/** What only a file that has its process to itself may do: replace modules, functions or clocks, watch the process, share hooks. */
const needsOwnProcess =
  /\bvi\.|memoryUsage|resourceUsage|process\.(env\.\w+ =|on|off|once|exit|kill)\b|command-setting|longest-turn|watched-server/;
const alone = globSync("test/**/*.test.ts").filter((file) =>
  needsOwnProcess.test(readFileSync(file, "utf8")),
);

export default defineConfig({
  plugins: [bundledProgram()],
  test: {
    environment: "node",
    pool: "forks",
    setupFiles: ["test/seeded.ts"],
    // A second, which is the default, is too short for a page on a machine that others use.
    expect: { poll: { timeout: 15_000 } },
    globalSetup: ["test/page/build-page.ts"],
    // Half of the time is waiting for processes and clocks: three files at once take a third less time on two cores than two.
    maxWorkers: 3,
    // Tests that start processes and stop them wait for a machine that others use, too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { test: { name: "alone", include: alone } },
      // One process after another loads the program once for many files: an eighth less time for all of them.
      {
        test: { name: "together", include: ["test/**/*.test.ts"], exclude: alone, isolate: false },
      },
    ],
  },
});
