/** Decodes bodies of Prometheus' remote write, versions 1.0 and 2.0, into samples. */

import type { BodyTask } from "../decode-task.ts";
import type { SampleSink } from "../row-sink.ts";
import { familyKey, readFamilies } from "./families.ts";
import { familySuffixes } from "./series-samples.ts";
import { WriteBody1 } from "./write-body-1.ts";
import { WriteBody2 } from "./write-body-2.ts";

export function readRemoteWrite1(
  body: Buffer,
  sink: SampleSink,
  { families: shared, sender }: BodyTask,
): void {
  const write = new WriteBody1(body, sink);
  const familiesInBody = write.readFamilies();
  if (familiesInBody.size > 0) sink.families = [...familiesInBody.values()];
  const earlierFamilies = readFamilies(shared);
  const find = (name: string) => familiesInBody.get(name) ?? earlierFamilies.get(familyKey(sender, name));
  write.readSamples((name) => find(name) ?? find(name.replace(familySuffixes, "")));
}

export function readRemoteWrite2(body: Buffer, sink: SampleSink): void {
  sink.answer = JSON.stringify(new WriteBody2(body, sink).read());
}
