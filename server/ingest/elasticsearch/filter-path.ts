/**
 * Elasticsearch's parameter `filter_path`: which parts of an answer are sent, such as `errors,items.*.error`. `*` stands
 * for any text within a name, `**` for any names, and a path that begins with `-` leaves parts out. Elements of arrays
 * are reached by the path of their array.
 */

import { Refusal } from "../../throttle/refusal.ts";

/** Characters of the parameter. Each path costs time for each part of the answer. */
const lengthMax = 1_000;

type Path = readonly string[];

/** The parts of `value` that the paths select; an empty object where they select none. Throws Refusal 400. */
export function filterPaths(value: unknown, text: string): unknown {
  if (text.length > lengthMax)
    throw new Refusal(400, `filter_path must have at most ${lengthMax} characters, got ${text.length}`);
  const texts = text.split(",").map((each) => each.trim());
  const toPath = (each: string): Path => each.split(".");
  const included = texts.filter((each) => each !== "" && !each.startsWith("-")).map(toPath);
  const excluded = texts.filter((each) => each.startsWith("-")).map((each) => toPath(each.slice(1)));
  const kept = included.length === 0 ? value : include(value, included);
  return exclude(kept, excluded) ?? {};
}

/** Undefined where nothing is selected. */
function include(value: unknown, paths: readonly Path[]): unknown {
  if (paths.some((path) => path.length === 0)) return value;
  if (Array.isArray(value)) {
    const kept = value.map((each) => include(each, paths)).filter((each) => each !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (typeof value !== "object" || value === null || paths.length === 0) return undefined;
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const part = include(member, follow(paths, name));
    return part === undefined ? [] : [[name, part] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Undefined where the value itself is left out. */
function exclude(value: unknown, paths: readonly Path[]): unknown {
  if (paths.length === 0) return value;
  if (paths.some((path) => path.length === 0)) return undefined;
  if (Array.isArray(value))
    return value.map((each) => exclude(each, paths)).filter((each) => each !== undefined);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const part = exclude(member, follow(paths, name));
    return part === undefined ? [] : [[name, part] as const];
  });
  return Object.fromEntries(kept);
}

/** What is left of the paths below a member; each rest once, since several `**` lead to the same. */
function follow(paths: readonly Path[], name: string): Path[] {
  const rests = paths.flatMap((path) => followOne(path, name));
  return [...new Map(rests.map((rest) => [rest.join("."), rest])).values()];
}

/** `**` stands for no name, too. */
function followOne(path: Path, name: string): Path[] {
  const [first = "", ...rest] = path;
  if (first !== "**") return matchesName(first, name) ? [rest] : [];
  return rest.length === 0 ? [[]] : [path, ...followOne(rest, name)];
}

function matchesName(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return pattern === name;
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  let at = first.length;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
