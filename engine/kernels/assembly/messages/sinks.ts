/** Growing streams of bytes. */
import { copyText } from "../bytes.ts";
import { growBlock, reserveBlock } from "../batch/blocks.ts";

/** A stream, by offsets: where its bytes lie, how many there are, and how many there is room for. */
const lengthOffset: usize = 4;
const roomOffset: usize = 8;
const firstRoom: u32 = 1024;
/** Appending may write so many bytes after the last one. */
const overwriteBytes: u32 = 16;

export function newSink(): usize {
  const sink = reserveBlock(12);
  store<u32>(sink, reserveBlock(firstRoom));
  store<u32>(sink, 0, lengthOffset);
  store<u32>(sink, firstRoom, roomOffset);
  return sink;
}

@inline
export function sinkAt(sink: usize): usize {
  return load<u32>(sink);
}

@inline
export function sinkLength(sink: usize): u32 {
  return load<u32>(sink, lengthOffset);
}

@inline
export function emptySink(sink: usize): void {
  store<u32>(sink, 0, lengthOffset);
}

/** Adds so many bytes of any content; returns where they lie. */
@inline
export function extendSink(sink: usize, bytes: u32): usize {
  const length = load<u32>(sink, lengthOffset);
  const needed = length + bytes + overwriteBytes;
  if (needed > load<u32>(sink, roomOffset)) growSink(sink, needed);
  store<u32>(sink, length + bytes, lengthOffset);
  return <usize>load<u32>(sink) + length;
}

function growSink(sink: usize, needed: u32): void {
  const room = max<u32>(needed, load<u32>(sink, roomOffset) << 1);
  store<u32>(sink, growBlock(load<u32>(sink), load<u32>(sink, lengthOffset), room));
  store<u32>(sink, room, roomOffset);
}

@inline
export function pushByte(sink: usize, byte: u32): void {
  store<u8>(extendSink(sink, 1), byte);
}

@inline
export function pushWord(sink: usize, word: u32): void {
  store<u32>(extendSink(sink, 4), word);
}

/** Appends bytes that lie elsewhere. */
@inline
export function appendBytes(sink: usize, from: usize, bytes: u32): void {
  copyText(extendSink(sink, bytes), from, bytes);
}
