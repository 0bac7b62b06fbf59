/** POST /upload: what systemd-journal-upload sends to systemd-journal-remote. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { type ErrorBody, Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake, IntakeBody } from "../intake.ts";
import { ingestBodyBytesMax, journalPartBytes } from "../limits.ts";
import { findEntriesEnd } from "./decode.ts";

const exportType = "application/vnd.fdo.journal";
const textType = "text/plain; charset=utf-8";

const uploaded = { signal: "logs", format: "journal export" } as const;

export function journaldRoutes(intake: Intake): Route[] {
  return [
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: "/upload",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes: [exportType] }),
      // The first upload of a machine is one body with its whole journal.
      parts: { bytes: journalPartBytes, take: (input) => takePart(intake, input) },
      errorBody: ({ message }): ErrorBody => ({ contentType: textType, body: `${message}\n` }),
      handle: (input) => takeEntries(intake, input),
    }),
  ];
}

/** What became of an upload so far. */
interface Upload {
  /** Entries that are stored: taken now, known by their cursors, or left out by a rule. */
  stored: number;
  refused: number;
  /** The first refused entry, and why. */
  problem: string;
  /** Where the first unfinished field of what is received begins: what is before it need not be looked at again. */
  unfinished: number;
}

/** By the signal of the request. */
const uploads = new WeakMap<AbortSignal, Upload>();

function uploadOf({ signal }: Pick<BatchInput["request"], "signal">): Upload {
  const upload = uploads.get(signal) ?? { stored: 0, refused: 0, problem: "", unfinished: 0 };
  uploads.set(signal, upload);
  return upload;
}

/** Takes the whole entries at the beginning of what was received; returns their bytes. */
async function takePart(intake: Intake, input: BatchInput): Promise<number> {
  const { body, request } = input;
  const upload = uploadOf(request);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const { end, unfinished } = await findEntriesEnd(bytes, upload.unfinished);
  upload.unfinished = unfinished - end;
  // A key names the whole body: each part is recognised by its content.
  if (end > 0) await take(intake, { ...input, body: body.slice(0, end) }, { key: null });
  return end;
}

/** Stores entries and adds them to what became of the upload. `changes`: what differs from the input. */
async function take(
  intake: Intake,
  input: BatchInput,
  changes: Partial<Pick<IntakeBody, "key">> = {},
): Promise<Upload> {
  const upload = uploadOf(input.request);
  const encoding = encodingOf(input.request.headers);
  const taken = await intake.take({ ...uploaded, encoding, ...toIntakeBody(input), ...changes });
  const { accepted, refused, dropped = 0, errors, answer } = taken;
  const [first] = errors;
  if (upload.problem === "" && first !== undefined)
    upload.problem = `; entry ${upload.stored + upload.refused + first.line}: ${first.reason}`;
  upload.stored += accepted + dropped + Number(answer ?? 0);
  upload.refused += refused;
  return upload;
}

/**
 * Answers 400 where every entry was refused. Where some are stored, refused ones are no error: after an error the sender
 * would send the whole upload again, for ever.
 */
async function takeEntries(intake: Intake, input: BatchInput): Promise<Reply> {
  const { stored, refused, problem } = await take(intake, input);
  if (refused > 0 && stored === 0) throw new Refusal(400, `all ${refused} entries were refused${problem}`);
  const body = refused === 0 ? "OK.\n" : `${refused} entries were refused${problem}\n`;
  return new Reply({ status: 202, headers: { "Content-Type": textType }, body });
}
