/** ripgrep over the bare messages: no store and no peer, but the measure of a plain search through text. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { countAnswer } from "../answer.ts";
import { ripgrepPath } from "../peers.ts";
import { lineKinds, type Question, type QuestionKind } from "../question.ts";
import type { LoadFigure, Place, System } from "../system.ts";

export async function kinds(): Promise<readonly QuestionKind[]> {
  return lineKinds;
}

export async function load({ dataset }: Place): Promise<Omit<LoadFigure, "rows" | "inputBytes">> {
  const { blocks } = await stat(dataset.textFile);
  return { loadSeconds: 0, settleSeconds: 0, diskBytes: blocks * 512, indexBytes: 0, memoryBytesPeak: 0 };
}

export async function open({ dataset, threads }: Place): Promise<System> {
  const path = await ripgrepPath();
  return {
    async ask(question) {
      const count = await countLines(
        path,
        [...flagsOf(question), `--threads=${threads}`],
        question.text,
        dataset.textFile,
      );
      return { answer: () => countAnswer(count) };
    },
    close: () => Promise.resolve(),
  };
}

function flagsOf({ kind }: Question): string[] {
  // Bytes as they are: some messages hold what is no text.
  const flags = ["--no-config", "--text", "--count", "--no-messages"];
  if (kind === "ignoreCase") return [...flags, "--fixed-strings", "--ignore-case", "--no-unicode"];
  return kind === "regex" ? flags : [...flags, "--fixed-strings"];
}

async function countLines(path: string, flags: string[], needle: string, file: string): Promise<number> {
  const child = spawn(path, [...flags, "--", needle, file], { stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  // Code 1: no line holds it.
  if (code !== 0 && code !== 1) throw new Error(`ripgrep ended with code ${code}`);
  return Number(output.trim() || "0");
}
