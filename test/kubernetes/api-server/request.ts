/** What an HTTP request asks for: the resource of its path, its verb, its body. */
import type { IncomingMessage } from "node:http";
import { parse as parseYaml } from "yaml";
import { badRequest, StatusError, unsupportedMediaType } from "./status.ts";

/** A path under `/api/v1` or `/apis/<group>/<version>`. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** "" for the whole cluster. */
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  readonly subresource: string | undefined;
}

/** The limit of a real server for a body. */
const bodyBytesMax = 3 * 1024 * 1024;

const bodyTypes = ["application/json", "application/yaml", "application/apply-patch+yaml"];

/** Reads the path of a resource; undefined for every other path. */
export function parseResourcePath(pathname: string): ResourcePath | undefined {
  const steps = pathname
    .split("/")
    .filter((step) => step !== "")
    .map(decodeURIComponent);
  const isCore = steps[0] === "api";
  if (!isCore && steps[0] !== "apis") return undefined;
  const [group, version] = isCore ? ["", steps[1]] : [steps[1], steps[2]];
  const rest = steps.slice(isCore ? 2 : 3);
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  const isNamespaced =
    rest[0] === "namespaces" && rest.length > 2 && !["status", "finalize"].includes(rest[2]!);
  const [plural, name = "", subresource] = isNamespaced ? rest.slice(2) : rest;
  const namespace = isNamespaced ? rest[1]! : plural === "namespaces" && isCore ? name : "";
  return { group, version, plural: plural!, namespace, name, subresource };
}

/** The verb of a request, as roles name it. */
export function verbOf(method: string, path: ResourcePath, query: URLSearchParams): string {
  const isOne = path.name !== "";
  switch (method) {
    case "GET":
    case "HEAD":
      if (isOne) return "get";
      return ["true", "1"].includes(query.get("watch") ?? "") ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return isOne ? "delete" : "deletecollection";
    default:
      return method.toLowerCase();
  }
}

/** The media type of a request's body, without parameters. */
export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
}

/** Reads and parses a body; undefined where it is empty. Throws 400, 413 or 415. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bodyBytesMax) {
      throw new StatusError(
        413,
        "RequestEntityTooLarge",
        `Request entity too large: limit is ${bodyBytesMax}`,
      );
    }
    parts.push(part);
  }
  if (bytes === 0) return undefined;
  const text = Buffer.concat(parts).toString("utf8");
  const type = mediaTypeOf(request);
  const isPatch = type.endsWith("-patch+json");
  if (!isPatch && type !== "" && !bodyTypes.includes(type)) throw unsupportedMediaType(type, bodyTypes);
  try {
    return type.endsWith("yaml") ? (parseYaml(text) as unknown) : JSON.parse(text);
  } catch (error) {
    throw badRequest(`error decoding body: ${(error as Error).message}`);
  }
}

/** The manager of fields: the query parameter, else the program's name in the user agent. */
export function managerOf(request: IncomingMessage, query: URLSearchParams): string {
  const agent = (request.headers["user-agent"] ?? "unknown").split("/")[0]!;
  return query.get("fieldManager") || agent;
}
