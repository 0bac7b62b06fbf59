/** The control part of the server: stored resources, tokens, and the identity provider. */

import { join } from "node:path";
import { adminTokenFile, ensureAdminToken } from "../access/admin-token.ts";
import type { AccessRules } from "../access/authentication.ts";
import { IdentityProvider, type IdentityProviderOptions } from "../access/identity-provider.ts";
import { isLoopbackName } from "../access/request-origin.ts";
import { Tokens } from "../access/tokens.ts";
import type { StoragePart } from "../storage/part.ts";
import { type Control, openControl } from "./control-plane.ts";
import type { DeliveryKnowledge } from "./resource-kinds.ts";

export interface ControlSettings {
  dataDir: string;
  address: { host: string };
  /** Requests without a token may read even where other machines can reach the server. */
  anonymousRead: boolean;
  /** Host names that the server answers to on loopback, besides its own. */
  hostNames: readonly string[];
  /** The provider whose tokens are accepted besides the server's own. Without it, only the latter are accepted. */
  identity?: IdentitySettings;
  log: (level: "warn" | "error", message: string) => void;
}

/** An identity provider (OpenID Connect). */
type IdentitySettings = Pick<IdentityProviderOptions, "issuer" | "audiences" | "groupsClaim">;

export interface ControlPart extends Control {
  tokens: Tokens;
  accessRules: AccessRules;
  /** Undefined where no identity provider is configured. */
  identityProvider: IdentityProvider | undefined;
  adminTokenPath: string;
  /** "made" where this start wrote the file, "there" where an admin token existed. Valid once `run` has resolved. */
  readonly adminToken: "made" | "there";
}

export function controlPart(
  settings: ControlSettings,
  { store, state }: Pick<StoragePart, "store" | "state">,
  delivery: DeliveryKnowledge,
): ControlPart {
  const { dataDir, log } = settings;
  const now = Date.now;
  const tokens = new Tokens(state, now);
  const control = openControl({
    state,
    tokens,
    append: (rows) => store.append("logs", rows),
    now,
    log: (message) => log("error", message),
    delivery,
  });
  const identityProvider = identityProviderOf(settings);
  let adminToken: "made" | "there" = "there";
  return {
    ...control,
    tokens,
    accessRules: accessRulesOf(settings, tokens, control, identityProvider),
    identityProvider,
    adminTokenPath: join(dataDir, adminTokenFile),
    get adminToken() {
      return adminToken;
    },
    run: async () => {
      adminToken = await ensureAdminToken(tokens, dataDir, now());
      await control.run();
    },
  };
}

function identityProviderOf({ identity, log }: ControlSettings): IdentityProvider | undefined {
  if (identity === undefined) return undefined;
  return new IdentityProvider({
    ...identity,
    now: Date.now,
    elapsed: () => performance.now(),
    log: (message) => log("warn", message),
  });
}

function accessRulesOf(
  settings: ControlSettings,
  tokens: Tokens,
  control: Control,
  provider: IdentityProvider | undefined,
): AccessRules {
  const onLoopback = isLoopbackName(settings.address.host);
  return {
    /** Whether requests without a token may read. Never once a telemetry rule exists: then callers must identify. */
    get anonymousReads() {
      const { telemetryRules } = control.collections;
      return (onLoopback || settings.anonymousRead) && telemetryRules.list().length === 0;
    },
    onLoopback,
    hostNames: settings.hostNames,
    callerOf: (token) => tokens.callerOf(token),
    userOf: provider && (async (token) => control.memberOf(await provider.identify(token))),
  };
}
