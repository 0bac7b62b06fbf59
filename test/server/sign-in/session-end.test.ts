/** What ends sessions, what they leave behind, and how many there may be. */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call, search } from "../running.ts";
import { Browser, type Who } from "./browser.ts";
import { day, hour, useSessionServer } from "./session-server.ts";

const scene = useSessionServer();

describe("a session is over", () => {
  const over = "the session is over: sign in again";

  async function expectOver(browser: Browser): Promise<void> {
    const got = await browser.ask("/api/v1/alerts");
    expect([got.status, got.json]).toEqual([401, { error: over }]);
    const asked = await browser.ask<Who>("/api/v1/session");
    expect([asked.status, asked.json.signedIn, browser.jar.size]).toEqual([200, false, 0]);
  }

  test("once nobody used it for twelve hours", async () => {
    const browser = await scene.signedIn(scene.server.adminToken);
    for (let i = 0; i < 3; i++) {
      scene.passedMs += 12 * hour - 60_000;
      expect(await browser.status()).toBe(200);
    }
    scene.passedMs += 12 * hour;
    await expectOver(browser);
  });

  test("after seven days, however much it is used", async () => {
    const browser = await scene.signedIn(scene.server.adminToken);
    for (; scene.passedMs < 7 * day; scene.passedMs += 10 * hour) expect(await browser.status()).toBe(200);
    scene.passedMs = 7 * day - 60_000;
    expect(await browser.status()).toBe(200);
    scene.passedMs = 7 * day;
    await expectOver(browser);
  });

  test("when its token expires, also where that was set later", async () => {
    const { id, token } = await scene.makeToken({ role: "viewer", expiresAt: Date.now() + hour });
    const browser = await scene.signedIn(token);
    expect((await ask(scene.server, "PUT", `/tokens/${id}`, { expiresAt: Date.now() + 60_000 })).status).toBe(
      200,
    );
    expect((await browser.who()).expiresAt).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(await browser.status()).toBe(200);
    scene.passedMs += 60_000;
    await expectOver(browser);
  });

  test("when its token is revoked, and others are not", async () => {
    const { id, token } = await scene.makeToken({ role: "viewer" });
    const [one, other] = [await scene.signedIn(token), await scene.signedIn(scene.server.adminToken)];
    expect((await ask(scene.server, "DELETE", `/tokens/${id}`)).status).toBe(200);
    await expectOver(one);
    expect(await other.status()).toBe(200);
  });

  test("when its user's token expires, or the user is in no group any more", async () => {
    expect(
      (
        await ask(scene.server, "POST", "/groups", {
          group: { name: "g", role: "editor", oidcMappings: ["idp-g"] },
        })
      ).status,
    ).toBe(200);
    const claims = { sub: "u7", email: "ann@example.com", groups: ["idp-g"] };
    const exp = Math.floor(Date.now() / 1000) + 600;
    const browser = await scene.signedIn(await scene.issuer.token({ ...claims, exp }));
    expect(await browser.who()).toMatchObject({
      signedIn: true,
      name: "ann@example.com",
      role: "editor",
      groups: ["g"],
      expiresAt: exp * 1000,
    });
    await ask(scene.server, "PUT", "/groups/g", {
      group: { name: "g", role: "admin", oidcMappings: ["idp-g"] },
    });
    expect((await browser.who()).role).toBe("admin");
    const lost = await scene.signedIn(await scene.issuer.token({ ...claims, exp }));
    await ask(scene.server, "PUT", "/groups/g", { group: { name: "g", oidcMappings: ["other"] } });
    await expectOver(lost);
    const refused = await new Browser(scene.server).signIn(await scene.issuer.token({ ...claims, exp }));
    expect([refused.status, refused.json.error]).toEqual([
      403,
      "you are known to the identity provider, but no group here takes you in",
    ]);
    await ask(scene.server, "PUT", "/groups/g", { group: { name: "g", oidcMappings: ["idp-g"] } });
    expect(await browser.status()).toBe(200);
    scene.passedMs += 601_000;
    await expectOver(browser);
    await ask(scene.server, "DELETE", "/groups/g");
  });
});

test("a restart ends no session but those of a provider that vouches no more", async () => {
  await scene.startOwn();
  await ask(scene.server, "POST", "/groups", {
    group: { name: "g", role: "admin", oidcMappings: ["idp-g"] },
  });
  const ofToken = await scene.signedIn(scene.server.adminToken);
  const ofUser = await scene.signedIn(await scene.issuer.token({ groups: ["idp-g"] }));
  const signedOut = await scene.signedIn(scene.server.adminToken);
  const secrets = [ofToken, ofUser, signedOut].map(({ jar }) => jar.get("svc-session")!);
  await signedOut.ask("/api/v1/session", { method: "DELETE" });
  const { dir } = scene.server;
  const restart = async (changes: object = {}) => {
    await scene.restart(changes);
    return Promise.all(
      secrets.map((secret) => {
        const browser = new Browser(scene.server);
        browser.jar.set("svc-session", secret);
        return browser.status();
      }),
    );
  };
  expect(await restart()).toEqual([200, 200, 401]);
  expect(await restart({ identity: { ...scene.identity(), groupsClaim: "roles" } })).toEqual([200, 401, 401]);
  // Idle time goes on while the server is down.
  for (const passes of [11, 11]) {
    scene.passedMs += passes * hour;
    expect((await restart())[0]).toBe(200);
  }
  scene.passedMs += 12 * hour;
  expect((await restart())[0]).toBe(401);
  await scene.stop();
  rmSync(dir, { recursive: true });
});

test("what begins a session stands nowhere: not in files, logs, the audit log or metrics", async () => {
  await scene.startOwn();
  await ask(scene.server, "POST", "/groups", {
    group: { name: "g", role: "admin", oidcMappings: ["idp-g"] },
  });
  const userToken = await scene.issuer.token({ groups: ["idp-g"] });
  const { id, token } = await scene.makeToken({ role: "viewer", name: "ops" });
  const [one, other] = [await scene.signedIn(token), await scene.signedIn(userToken)];
  const secrets = [
    token.slice(-43),
    userToken.split(".")[1]!,
    userToken.split(".")[2]!,
    one.jar.get("svc-session")!,
    other.jar.get("svc-session")!,
  ];
  await new Browser(scene.server).signIn(`${token.slice(0, -1)}_`);
  await one.ask("/api/v1/session", { method: "DELETE" });
  const query = 'logs{resource="session"}';
  const entries = async () =>
    (
      await ask<{ logs: { message: string; attributes: Record<string, string> }[] }>(
        scene.server,
        "POST",
        "/query/logs",
        {
          query: `${query}`,
          startTime: 0,
          endTime: Date.now() + day,
        },
      )
    ).json.logs;
  await expect.poll(async () => (await entries()).length, { timeout: 20_000 }).toBe(3);
  const logged = (await entries()).map(({ attributes: { action, actor, role, "token.id": tokenId } }) => ({
    action,
    actor,
    role,
    tokenId,
  }));
  const ofToken = { actor: "ops", role: "viewer", tokenId: id };
  expect(logged).toHaveLength(3);
  expect(logged).toContainEqual({ action: "created", ...ofToken });
  expect(logged).toContainEqual({ action: "deleted", ...ofToken });
  expect(logged).toContainEqual({ action: "created", actor: "u1", role: "admin", tokenId: undefined });
  const refused = () => search(scene.server, { query: 'logs{audit="refused"} |= "POST /api/v1/session"' });
  await expect.poll(async () => (await refused()).json.count, { timeout: 20_000 }).toBe(1);
  expect((await refused()).json.logs[0]!.attributes).toMatchObject({ "client.address": "127.0.0.1" });
  const { text } = await call(scene.server, "/metrics", { token: scene.server.adminToken });
  expect(text).toContain("\nsvc_sessions 1\n");
  expect(text).toContain('svc_sign_ins_total{by="token",outcome="accepted"} 1');
  expect(text).toContain('svc_sign_ins_total{by="token",outcome="refused"} 1');
  expect(text).toContain('svc_sign_ins_total{by="user token",outcome="accepted"} 1');
  const audit = JSON.stringify(await entries()) + (await refused()).text;
  await scene.server.service.close();
  for (const each of secrets) {
    for (const file of readdirSync(scene.server.dir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const bytes = readFileSync(join(file.parentPath, file.name));
      expect(bytes.includes(each), `${file.name} holds ${each}`).toBe(false);
    }
    for (const place of [scene.server.logged.join("\n"), text, audit]) expect(place).not.toContain(each);
  }
});

test("who guesses tokens to sign in with is slowed down, and a right one from there is taken", async () => {
  await scene.startOwn();
  const guess = () =>
    call(scene.server, "/api/v1/session", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: "svc_wrong" }),
    });
  let statuses: number[] = [];
  for (let i = 0; i < 40 && !statuses.includes(429); i++)
    statuses = (await Promise.all(Array.from({ length: 200 }, guess))).map(({ status }) => status);
  expect(statuses).toContain(429);
  expect(await (await scene.signedIn(scene.server.adminToken)).status()).toBe(200);
});

test("nobody signs in without end: each costs a write", async () => {
  await scene.startOwn();
  const sign = () => new Browser(scene.server).signIn(scene.server.adminToken);
  let statuses: number[] = [];
  for (let i = 0; i < 40 && !statuses.includes(429); i++)
    statuses = (await Promise.all(Array.from({ length: 60 }, sign))).map(({ status }) => status);
  expect(statuses).toContain(429);
  const text = (await call(scene.server, "/metrics", { token: scene.server.adminToken })).text;
  expect(Number(/^svc_sessions (\d+)$/m.exec(text)![1])).toBeLessThanOrEqual(20);
});
