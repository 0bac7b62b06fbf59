/** `svc token`: creates, lists and revokes tokens of a running server. */

import { roles } from "../model/caller.ts";
import { suggest } from "../text/suggestion.ts";
import { askJson, type Client, openClient, postJson } from "./client/client.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { parseText, takeLast } from "./flags/flag.ts";
import { ageFlag, serverFlags, switchFlag } from "./flags/shared-flags.ts";
import { parseInteger, parseSize, UsageError } from "./flags/units.ts";
import { formatCount } from "./output/progress.ts";
import { escapeLine } from "./output/terminal.ts";

const flags = {
  role: {
    placeholder: "ROLE",
    help: `what a new token may do: ${roles.join(", ")}`,
    parse: takeLast(parseRole),
  },
  name: {
    placeholder: "NAME",
    help: "what a new token is called in lists",
    defaultText: "its role",
    parse: takeLast(parseText),
  },
  expires: { ...ageFlag, help: "how long a new token is good for", defaultText: "for ever" },
  "rows-per-second": {
    placeholder: "N",
    help: "rows that a new token may send a second; none: as many as it likes",
    defaultText: "what the server says for all",
    parse: takeLast((text) => parseBound(text, (bound) => parseInteger(bound, 1, Number.MAX_SAFE_INTEGER))),
  },
  "bytes-per-second": {
    placeholder: "SIZE",
    help: "bytes that a new token may send a second; none: as many as it likes",
    defaultText: "what the server says for all",
    parse: takeLast((text) => parseBound(text, parseSize)),
  },
  json: { ...switchFlag, help: "prints JSON" },
  ...serverFlags,
} as const;

/** A token as the API lists it. */
interface TokenInfo {
  id: string;
  name: string;
  role: string;
  createdAt: number;
  expiresAt?: number;
  /** Null: unlimited. */
  rowsPerSecond?: number | null;
  /** Null: unlimited. */
  bytesPerSecond?: number | null;
}

const path = "/api/v1/tokens";

export const token: Command<typeof flags> = {
  name: "token",
  summary: "makes, lists and revokes tokens of a running server",
  operands: "create|list|revoke [ID]",
  output: "report",
  flags,
  details: [
    "svc token create --role ingest --name shop   prints the token: it cannot be shown again",
    "svc token list                               prints id, role, name and times of every token",
    "svc token revoke ID                          refuses the token from now on",
  ],
  run: async (settings, [action, ...operands]) => {
    const client = await openClient(settings);
    switch (action) {
      case "create":
        return create(client, settings);
      case "list":
        return list(client, settings);
      case "revoke":
        return revoke(client, operands);
      default:
        throw new UsageError(
          `token takes create, list or revoke${suggest(action ?? "", ["create", "list", "revoke"])}`,
        );
    }
  },
};

function parseRole(text: string): string {
  if (roles.some((role) => role === text)) return text;
  throw new UsageError(`one of ${roles.join(", ")}${suggest(text, roles)}`);
}

function parseBound(text: string, parse: (text: string) => number): number | "none" {
  return text === "none" ? text : parse(text);
}

async function create(client: Client, settings: Settings<typeof flags>): Promise<number> {
  const { role, name, expires, "rows-per-second": rows, "bytes-per-second": bytes } = settings;
  if (role === null) throw new UsageError(`--role is required: one of ${roles.join(", ")}`);
  const body = {
    role,
    ...(name === null ? {} : { name }),
    ...(expires === null ? {} : { expiresAt: Date.now() + expires }),
    ...(rows === null ? {} : { rowsPerSecond: rows === "none" ? null : rows }),
    ...(bytes === null ? {} : { bytesPerSecond: bytes === "none" ? null : bytes }),
  };
  const created = await postJson<TokenInfo & { token: string }>(client, path, body);
  // The token alone goes to standard output, so that `$(svc token create …)` is the token.
  process.stdout.write(settings.json ? `${JSON.stringify(created)}\n` : `${created.token}\n`);
  process.stderr.write(
    `token ${created.id} of role ${created.role}: keep it now, it cannot be shown again\n`,
  );
  return 0;
}

async function list(client: Client, settings: Settings<typeof flags>): Promise<number> {
  const { tokens } = await askJson<{ tokens: TokenInfo[] }>(client, { method: "GET", path });
  if (settings.json) {
    for (const token of tokens) process.stdout.write(`${JSON.stringify(token)}\n`);
    return 0;
  }
  for (const { id, role, name, createdAt, expiresAt, rowsPerSecond, bytesPerSecond } of tokens) {
    const bounds = [...formatBound(rowsPerSecond, "rows/s"), ...formatBound(bytesPerSecond, "bytes/s")];
    const expiry =
      expiresAt === undefined
        ? "never expires"
        : `${expiresAt <= Date.now() ? "expired" : "expires"} ${formatMinute(expiresAt)}`;
    process.stdout.write(
      `${id}  ${role.padEnd(6)}  made ${formatMinute(createdAt)}  ${[expiry, ...bounds].join(", ")}  ${escapeLine(name)}\n`,
    );
  }
  return 0;
}

function formatBound(bound: number | null | undefined, unit: string): string[] {
  if (bound === undefined) return [];
  return [bound === null ? `any ${unit}` : `${formatCount(bound)} ${unit}`];
}

function formatMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

async function revoke(client: Client, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("revoke takes the id of a token (svc token list shows them)");
  for (const id of ids) {
    await askJson(client, { method: "DELETE", path: `${path}/${encodeURIComponent(id)}` });
    process.stderr.write(`token ${id} is revoked\n`);
  }
  return 0;
}
