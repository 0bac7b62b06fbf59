/**
 * A process that writes numbered entries to the state in the folder it is given, and prints each number once it is
 * acknowledged.
 */
import { openState } from "../../../engine/state/state.ts";

const state = await openState(process.argv[2]!);
const from = (state.get("counter", "last") as number | undefined) ?? 0;
process.stdout.write("open\n");
for (let number = from + 1; ; number++) {
  await state.write([
    { table: "counter", id: "last", value: number },
    { table: "entries", id: String(number), value: { number, text: "x".repeat(number % 3_000) } },
    { table: "entries", id: String(number - 10), value: undefined },
  ]);
  process.stdout.write(`${number}\n`);
}
