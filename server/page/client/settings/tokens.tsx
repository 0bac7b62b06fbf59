/** Tokens: who may what, since when, and used when; they are made and revoked. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiProblem, ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { clock } from "../time/zone.ts";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { TableBox } from "../ui/table-box.tsx";
import { TokenShown } from "./token-shown.tsx";

interface Token {
  id: string;
  name: string;
  role: string;
  createdAt: number;
  lastUsedAt?: number;
  expiresAt?: number;
  groups?: string[];
  environment?: string;
}

export function Tokens() {
  const isMaking = useSignal(false);
  const shown = useSignal<string | undefined>(undefined);
  const revoking = useSignal<Token | undefined>(undefined);
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ tokens: Token[] }>("/api/v1/tokens", { signal }),
  );
  const reload = () => void loading.load(undefined);
  useEffect(reload, []);
  return (
    <section aria-label="Tokens">
      <div class="screen-head">
        <h1>Tokens</h1>
        <span class="grow" />
        <button
          type="button"
          class="primary"
          onClick={() => {
            isMaking.value = true;
          }}
        >
          New token
        </button>
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      <TableBox label="Tokens">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Role</th>
              <th scope="col">Groups</th>
              <th scope="col">Environment</th>
              <th scope="col">Made</th>
              <th scope="col">Last used</th>
              <th scope="col">Until</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {loading.answer.value?.tokens.map((token) => (
              <tr key={token.id}>
                <td>
                  <bdi>{token.name}</bdi>
                </td>
                <td>{token.role}</td>
                <td>
                  <bdi>{token.groups?.join(", ") ?? ""}</bdi>
                </td>
                <td>
                  <bdi>{token.environment ?? ""}</bdi>
                </td>
                <td class="time">{clock.value.short(token.createdAt)}</td>
                <td class="time">
                  {token.lastUsedAt === undefined ? "never" : clock.value.short(token.lastUsedAt)}
                </td>
                <td class="time">
                  {token.expiresAt === undefined ? "" : clock.value.short(token.expiresAt)}
                </td>
                <td>
                  <button
                    type="button"
                    onClick={() => {
                      revoking.value = token;
                    }}
                  >
                    Revoke
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      {isMaking.value ? (
        <NewToken
          onMade={(token) => {
            isMaking.value = false;
            shown.value = token;
            reload();
          }}
          onClose={() => {
            isMaking.value = false;
          }}
        />
      ) : null}
      {shown.value === undefined ? null : (
        <TokenShown
          token={shown.value}
          onClose={() => {
            shown.value = undefined;
          }}
        />
      )}
      {revoking.value === undefined ? null : (
        <Confirm
          title={`Revoke ${revoking.value.name}?`}
          action="Revoke"
          onConfirm={async () => {
            await ask(`/api/v1/tokens/${encodeURIComponent(revoking.value!.id)}`, { method: "DELETE" });
            reload();
          }}
          onClose={() => {
            revoking.value = undefined;
          }}
        >
          <p>
            {revoking.value.role === "ingest"
              ? "What sends rows with it is refused from now on."
              : "Whoever uses it is signed out and refused from now on; alerts that it saved lose their rights."}
          </p>
        </Confirm>
      )}
    </section>
  );
}

const roles = ["ingest", "viewer", "editor", "admin"];
const dayMs = 86_400_000;
const lives: readonly [string, number][] = [
  ["for ever", 0],
  ["a day", dayMs],
  ["30 days", 30 * dayMs],
  ["a year", 365 * dayMs],
];

function NewToken({ onMade, onClose }: { onMade(token: string): void; onClose(): void }) {
  const fields = useSignal({ name: "", role: "ingest", groups: "", environment: "", lifeMs: 0 });
  const problem = useSignal<ApiProblem | undefined>(undefined);
  const change = (changes: Partial<typeof fields.value>) => {
    fields.value = { ...fields.value, ...changes };
  };
  const save = async (event: Event) => {
    event.preventDefault();
    const { name, role, groups, environment, lifeMs } = fields.value;
    const names = groups
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "");
    const body = {
      role,
      ...(name === "" ? {} : { name }),
      ...(names.length === 0 ? {} : { groups: names }),
      ...(environment === "" ? {} : { environment }),
      ...(lifeMs === 0 ? {} : { expiresAt: Date.now() + lifeMs }),
    };
    try {
      onMade((await ask<{ token: string }>("/api/v1/tokens", { body })).token);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      problem.value = error;
    }
  };
  const problemAt = (member: string) =>
    problem.value?.field?.startsWith(member) ? problem.value.message : undefined;
  const { name, role, groups, environment, lifeMs } = fields.value;
  const isPlaced = ["name", "groups", "environment"].some((member) => problemAt(member) !== undefined);
  return (
    <Dialog title="New token" onClose={onClose}>
      <form class="dialog-form" onSubmit={save}>
        <Field label="Name" problem={problemAt("name")}>
          {(attributes) => (
            <input
              {...attributes}
              value={name}
              onInput={(event) => change({ name: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Role">
          {(attributes) => (
            <select
              {...attributes}
              value={role}
              onChange={(event) => change({ role: event.currentTarget.value })}
            >
              {roles.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          )}
        </Field>
        {role === "ingest" ? (
          <Field
            label="Environment"
            hint="Its name is stamped on every row that the token sends"
            problem={problemAt("environment")}
          >
            {(attributes) => (
              <input
                {...attributes}
                value={environment}
                onInput={(event) => change({ environment: event.currentTarget.value })}
              />
            )}
          </Field>
        ) : (
          <Field
            label="Groups"
            hint="With groups, rules bind the token; names with commas"
            problem={problemAt("groups")}
          >
            {(attributes) => (
              <input
                {...attributes}
                value={groups}
                onInput={(event) => change({ groups: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
        <Field label="Valid">
          {(attributes) => (
            <select
              {...attributes}
              value={String(lifeMs)}
              onChange={(event) => change({ lifeMs: Number(event.currentTarget.value) })}
            >
              {lives.map(([label, ms]) => (
                <option key={ms} value={String(ms)}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {problem.value === undefined || isPlaced ? null : (
          <p class="problem" role="alert">
            {problem.value.message}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Make
          </button>
        </div>
      </form>
    </Dialog>
  );
}
