/** What an object takes of a request to the hub, or why no request can hold it. Pure functions. */

import { jsonDepthMax } from "../../api/limits.ts";

/** Levels that a request has around a `spec`: the body, its list of objects, and the object. */
const levelsAround = 3;
const depthMax = jsonDepthMax - levelsAround;

/** The bytes of a value as JSON, or why it cannot be sent. Never throws, however deep the value is. */
export function measureObject(object: { spec: unknown }): { bytes: number } | { problem: string } {
  if (isDeeper(object.spec, depthMax))
    return { problem: `spec nests more than ${depthMax} objects and arrays` };
  try {
    return { bytes: Buffer.byteLength(JSON.stringify(object)) };
  } catch (error) {
    return { problem: `spec cannot be sent as JSON: ${error instanceof Error ? error.message : error}` };
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
