/** POST /upload: what systemd-journal-upload sends to systemd-journal-remote. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { type ErrorBody, Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
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

/** Takes the whole entries at the beginning of what was received; returns their bytes. */
async function takePart(intake: Intake, input: BatchInput): Promise<number> {
  const { body } = input;
  const end = findEntriesEnd(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  if (end === 0) return 0;
  await intake.take({
    ...toIntakeBody(input),
    ...uploaded,
    encoding: "identity",
    key: null,
    body: body.slice(0, end),
  });
  return end;
}

/**
 * Refused entries are no error as long as others were taken: the sender would send all of them again, for ever. Answers
 * 400 where every entry was refused.
 */
async function takeEntries(intake: Intake, input: BatchInput): Promise<Reply> {
  const { accepted, refused, dropped, errors } = await intake.take({
    ...uploaded,
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const [first] = errors;
  const problem = first === undefined ? "" : `; entry ${first.line}: ${first.reason}`;
  if (first !== undefined && accepted === 0 && dropped === undefined)
    throw new Refusal(400, `all ${refused} entries were refused${problem}`);
  const body = first === undefined ? "OK.\n" : `${refused} entries were refused${problem}\n`;
  return new Reply({ status: 202, headers: { "Content-Type": textType }, body });
}
