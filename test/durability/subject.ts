/** The process under test: opens a store and executes the commands on its standard input. Its argument is the seed. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Failure, openState, openStore, type State, type Store, verifyStore } from "../../engine/index.ts";
import type { Answer, Appended, Command } from "./command.ts";
import { writeLine } from "./line.ts";
import { keyOf, nowMs, rowsOf, signalOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";

const seed = JSON.parse(process.argv[2]!) as number;
const events: string[] = [];
let store: Store | undefined;
let state: State | undefined;

function openedState(): State {
  if (state === undefined) throw new Error("no state is open");
  return state;
}

function openedStore(): Store {
  if (store === undefined) throw new Error("no store is open");
  return store;
}

async function open({ dir, retentionAgeMs, nowMs: clockMs }: Command & { do: "open" }): Promise<unknown> {
  events.length = 0;
  store = await openStore({
    dir,
    threads: 1,
    now: () => clockMs ?? nowMs,
    log: ({ level, message }) => {
      if (level !== "info") events.push(`${level}: ${message}`);
    },
    ...(retentionAgeMs === undefined ? {} : { retentionAgeMs, retentionBeforeMs: clockMs ?? nowMs }),
  });
  const opened = store;
  try {
    state = await openState(join(dir, "control"), { checkFolder: () => opened.checkFolder() });
  } catch (error) {
    store = undefined;
    await opened.close();
    throw error;
  }
  return { events };
}

async function append(batch: number): Promise<Appended> {
  const key = keyOf(seed, batch);
  try {
    const { rows, duplicate } = await openedStore().append(
      signalOf(batch),
      rowsOf(seed, batch),
      key === undefined ? {} : { key },
    );
    return { batch, rows, duplicate, failure: undefined };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { batch, rows: undefined, duplicate: false, failure: `${error.kind}: ${error.message}` };
  }
}

async function perform(command: Command): Promise<unknown> {
  switch (command.do) {
    case "open":
      return open(command);
    case "append": {
      const all = command.batches.flatMap((batch) => new Array<number>(command.times ?? 1).fill(batch));
      return Promise.all(all.map(append));
    }
    case "seal":
      await openedStore().seal();
      return null;
    case "write-state":
      await openedState().write([{ table: "test", id: command.id, value: command.value }]);
      return null;
    case "read": {
      const contents = await readContents(openedStore(), seed, command.pageRows);
      return { contents, stats: openedStore().stats(), events };
    }
    case "verify":
      return verifyStore(command.dir);
    case "close":
      await state?.close();
      await openedStore().close();
      state = undefined;
      store = undefined;
      return null;
  }
}

async function answer(command: Command): Promise<Answer<unknown>> {
  try {
    return { ok: true, value: await perform(command) };
  } catch (error) {
    if (error instanceof Failure) return { ok: false, kind: error.kind, message: error.message };
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ok: false, kind: "bug", message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  writeLine(JSON.stringify(await answer(JSON.parse(line) as Command)));
}
