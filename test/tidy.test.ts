/** The house rules that a program can keep: what imports what, how long a file is, what it may be called. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { arrows, fileLinesMax, folderFilesMax, mayImport, sharedFiles } from "./house.ts";

const root = join(import.meta.dirname, "..");
const layers = ["engine", "query", "server"] as const;
const bannedNames = /^(?:utils?|helpers?|common|misc|manager|handlers?|types)(?:\.|$)/;
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:test|bench))?(?:\.(?:[jt]s|tsx))?$/;

/** Foreign packages that one file alone imports. */
const edges: Record<string, string> = {
  lmdb: "engine/lmdb/native-database.ts",
  tinypool: "",
  re2js: "",
  "apache-arrow": "engine/scatter/arrow-batch.ts",
};

/** Benchmarks of a layer's inner parts, which its public face does not show. */
const innerBenchmarks = [normalize("bench/kernels.ts")];

const files = sourceFiles();

/** What stands at the top, besides dotfiles and what git ignores. */
const topLevel = [
  ...["LICENSE", "README.md", "bench", "biome.json", "engine", "fixtures", "knip.json", "package-lock.json"],
  ...["package.json", "query", "server", "test", "tsconfig.json", "vitest.config.ts"],
];

test("nothing else stands at the top", () => {
  const ignored = readFileSync(join(root, ".gitignore"), "utf8").replaceAll("/", "").split("\n");
  const found = readdirSync(root).filter((name) => !name.startsWith(".") && !ignored.includes(name));
  expect(found.sort()).toEqual(topLevel.sort());
});

describe("files", () => {
  test.each(files)("%s is short enough to read and named for what it holds", (file) => {
    const lines = readFileSync(join(root, file), "utf8").split("\n").length - 1;
    expect(lines, `${file} has ${lines} lines`).toBeLessThanOrEqual(fileLinesMax);
    for (const part of file.split(sep)) expect(part, file).not.toMatch(bannedNames);
  });

  test.each(Object.keys(mayImport))("folders of %s hold few files, and names are in kebab-case", (layer) => {
    const own = files.filter((file) => file.startsWith(`${layer}${sep}`));
    const byFolder = Map.groupBy(own, (file) => dirname(file));
    const full = [...byFolder].filter(([, inFolder]) => inFolder.length > folderFilesMax);
    expect(full.map(([folder, inFolder]) => `${folder} holds ${inFolder.length} files`)).toEqual([]);
    const misnamed = own.filter((file) => !file.split(sep).every((part) => kebabCase.test(part)));
    expect(misnamed).toEqual([]);
  });

  test("only the three layers have an index.ts, one each", () => {
    const barrels = files.filter((file) => file.endsWith("index.ts"));
    expect(barrels.filter((file) => !layers.some((layer) => file === `${layer}/index.ts`))).toEqual([]);
  });
});

describe("imports", () => {
  test.each(files)("%s imports one way, and other layers through their index.ts alone", (file) => {
    const layer = file.split(sep)[0]!;
    for (const target of relativeImports(file)) {
      expect(existsSync(join(root, target)), `${file} imports ${target}`).toBe(true);
      const targetLayer = target.split(sep)[0]!;
      if (targetLayer === layer) continue;
      expect(mayImport[layer], `${file} imports ${target}`).toContain(targetLayer);
      const isLayer = (layers as readonly string[]).includes(targetLayer);
      // Tests of a layer's inner laws stand beside it in test/<layer>; those of server/kubernetes in test/kubernetes.
      const tested = file.startsWith(`test${sep}kubernetes${sep}`) ? "server" : file.split(sep)[1];
      const looksInside = (layer === "test" && tested === targetLayer) || innerBenchmarks.includes(file);
      if (isLayer && !looksInside) {
        expect(target, `${file} enters ${targetLayer} past its public face`).toBe(
          `${targetLayer}${sep}index.ts`,
        );
      }
    }
  });

  test.each(Object.entries(arrows))("folders of %s import each other one way", (layer, foldersOf) => {
    const folders = new Set(files.flatMap((file) => folderOf(layer, file) ?? []));
    folders.delete("");
    expect([...folders].sort()).toEqual(Object.keys(foldersOf).sort());
    const strays = files.flatMap((file) => {
      const from = folderOf(layer, file);
      // The files of a layer's own level put its folders together.
      if (from === undefined || from === "") return [];
      return relativeImports(file)
        .filter((target) => {
          const to = folderOf(layer, target);
          if (to === undefined || to === from) return false;
          return to === "" ? !sharedFiles[layer]!.includes(basename(target)) : !foldersOf[from]!.includes(to);
        })
        .map((target) => `${file} imports ${target}`);
    });
    expect(strays).toEqual([]);
    expect(circles(new Map(Object.entries(foldersOf)))).toEqual([]);
    const used = new Set(
      files.flatMap((file) => {
        return relativeImports(file).map((target) => `${folderOf(layer, file)} ${folderOf(layer, target)}`);
      }),
    );
    const idle = Object.entries(foldersOf).flatMap(([from, to]) => {
      return to.filter((each) => !used.has(`${from} ${each}`)).map((each) => `${from} -> ${each}`);
    });
    expect(idle, "arrows that no import needs").toEqual([]);
  });

  test.each(Object.keys(mayImport))(
    "no files of %s import each other in a circle, types included",
    (layer) => {
      const own = files.filter((file) => file.startsWith(`${layer}${sep}`));
      const graph = new Map(
        own.map((file) => [file, relativeImports(file).filter((target) => own.includes(target))]),
      );
      expect(circles(graph)).toEqual([]);
    },
  );

  test("a foreign API has one edge file", () => {
    for (const [name, edge] of Object.entries(edges)) {
      const importers = files.filter((file) => {
        return layers.some((layer) => file.startsWith(`${layer}${sep}`)) && importsOf(file).includes(name);
      });
      if (edge !== "") expect(importers, name).toEqual([normalize(edge)]);
      for (const layer of layers) {
        const inLayer = importers.filter((file) => file.startsWith(`${layer}${sep}`));
        expect(inLayer.length, `${name} in ${layer}: ${inLayer.join(", ")}`).toBeLessThanOrEqual(1);
      }
    }
  });
});

describe("exports", () => {
  test.each(layers)("every export of %s has a docstring where it is declared", (layer) => {
    const face = readFileSync(join(root, layer, "index.ts"), "utf8");
    const bare = [...face.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)"/g)].flatMap(
      ([, names, from]) => {
        const text = readFileSync(join(root, layer, from!), "utf8");
        return names!
          .split(",")
          .map((name) => name.trim().replace(/^type /, ""))
          .filter((name) => name !== "" && !declarationWithDocstring(name).test(text));
      },
    );
    expect(bare).toEqual([]);
  });

  test("no two types of the layers have one name", () => {
    const declared = files
      .filter(
        (file) => layers.some((layer) => file.startsWith(`${layer}${sep}`)) && !file.includes("assembly"),
      )
      .flatMap((file) => {
        const text = readFileSync(join(root, file), "utf8");
        const types = text.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm);
        return Array.from(types, ([, name]) => ({ name: name!, file }));
      });
    const byName = Map.groupBy(declared, ({ name }) => name);
    const shared = [...byName].filter(([, places]) => places.length > 1);
    expect(shared.map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(", ")}`)).toEqual(
      [],
    );
  });
});

describe("documents", () => {
  const documents = [
    "README.md",
    "engine/ARCHITECTURE.md",
    "engine/FORMAT.md",
    "engine/lmdb/README.md",
    "query/ARCHITECTURE.md",
    "query/ON-CALL.md",
    "query/README.md",
    "server/ARCHITECTURE.md",
    "server/README.md",
    "server/SECURITY.md",
    "server/control/README.md",
    "server/kubernetes/README.md",
    "bench/DESIGNS.md",
    "bench/README.md",
    "fixtures/README.md",
  ];

  test.each(documents)("every path that %s names exists", (document) => {
    const text = readFileSync(join(root, document), "utf8");
    const named = [...text.matchAll(/`((?:engine|query|server|bench|fixtures|test)\/[\w./-]+)`/g)].map(
      (match) => match[1]!,
    );
    // Architecture pages name files by their path within the layer.
    const layer = dirname(document);
    const exists = (path: string) => [path, join(layer, path)].some((each) => existsSync(join(root, each)));
    const inLayer = document.endsWith("ARCHITECTURE.md")
      ? [...text.matchAll(/`([a-z-]+\/[\w/-]+\.(?:ts|md))`/g)].map((match) => match[1]!)
      : [];
    expect([...named, ...inLayer].filter((path) => !exists(path))).toEqual([]);
  });

  test.each(documents)("every npm script that %s names exists", (document) => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const text = readFileSync(join(root, document), "utf8");
    const named = [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map((match) => match[1]!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

/** Matches the declaration of a name that a docstring stands right above. */
function declarationWithDocstring(name: string): RegExp {
  const kinds = "(?:abstract )?(?:async )?(?:class|function\\*?|interface|type|const)";
  return new RegExp(`\\*/\\n(?:export )?${kinds} ${name}\\b`);
}

function sourceFiles(): string[] {
  return ["engine", "query", "server", "bench", "fixtures", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:[jt]s|tsx)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((file) => !file.includes("node_modules")),
  );
}

/** The folder of a layer that a file is in, "" for the layer's own level; undefined for a file of another layer. */
function folderOf(layer: string, file: string): string | undefined {
  if (!file.startsWith(`${layer}${sep}`)) return undefined;
  const [folder, ...rest] = file.slice(layer.length + 1).split(sep);
  return rest.length === 0 ? "" : folder;
}

/** Sets of nodes that reach each other, by Tarjan's algorithm. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    lowest.set(node, order.get(node)!);
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const circle = open.splice(open.indexOf(node));
    if (circle.length > 1) found.push(circle);
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  return [
    ...text.matchAll(/^(?:import|export)\b[^"';]*?from "([^"]+)"|\bimport\("([^"]+)"\)|^import "([^"]+)"/gm),
  ].map((match) => (match[1] ?? match[2] ?? match[3])!);
}

function relativeImports(file: string): string[] {
  return importsOf(file)
    .filter((target) => target.startsWith("."))
    .map((target) => normalize(join(dirname(file), target)));
}
