/** A server that the tests of one file share, with an issuer beside it and a wall clock that can be set. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { audience, type Issuer, startIssuer } from "../access/issuer.ts";
import { ask } from "../control/asking.ts";
import { type Running, startServer } from "../running.ts";
import { Browser } from "./browser.ts";

export const hour = 3_600_000;
export const day = 24 * hour;

type Settings = Parameters<typeof startServer>[0];

/** What a test works with; all of it is there once a test runs. */
export class SessionServer {
  issuer!: Issuer;
  #server: Running | undefined;
  #isUsedUp = false;
  /** How far the wall clock has been set; 0 when a test begins. */
  passedMs = 0;

  get server(): Running {
    return this.#server!;
  }

  identity() {
    return { issuer: this.issuer.url, audiences: [audience], groupsClaim: "groups" };
  }

  async start(changes: Settings = {}): Promise<void> {
    this.#server ??= await startServer({ identity: this.identity(), ...changes });
    this.#server.url = this.#server.url.replace("0.0.0.0", "127.0.0.1");
  }

  /** Starts a server for one test. */
  async startOwn(changes: Settings = {}): Promise<void> {
    await this.stop();
    await this.start(changes);
    this.#isUsedUp = true;
  }

  /** Starts the server again, over the same data. */
  async restart(changes: Settings = {}): Promise<void> {
    const { dir, service } = this.server;
    await service.close();
    this.#server = undefined;
    await this.start({ dataDir: dir, ...changes });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
    this.#isUsedUp = false;
  }

  async endTest(): Promise<void> {
    if (this.#isUsedUp) await this.stop();
  }

  async makeToken(wanted: object): Promise<{ id: string; token: string }> {
    const got = await ask<{ id: string; token: string }>(this.server, "POST", "/tokens", wanted);
    expect(got.status, got.text).toBe(200);
    return got.json;
  }

  /** A browser that has signed in. */
  async signedIn(token: string): Promise<Browser> {
    const browser = new Browser(this.server);
    const got = await browser.signIn(token);
    expect(got.status, got.text).toBe(200);
    return browser;
  }
}

/** Makes the server for the tests of a file. */
export function useSessionServer(): SessionServer {
  const scene = new SessionServer();
  const realNow = Date.now;
  beforeAll(async () => {
    scene.issuer = await startIssuer();
    vi.spyOn(Date, "now").mockImplementation(() => realNow() + scene.passedMs);
  });
  beforeEach(async () => {
    scene.passedMs = 0;
    await scene.start();
  });
  afterEach(() => scene.endTest());
  afterAll(async () => {
    await scene.stop();
    await scene.issuer.stop();
    vi.restoreAllMocks();
  });
  return scene;
}
