/** The filter of messages that are stored as plain text, as template/plain-text-filter.ts defines it. */
import { addTokenText, beginTokens, finishTokens, newTokens } from "./longtokens.ts";
import { addAllNgrams, addNgrams, clearNgrams, newNgrams, ngramBits, ngramFilterBytes } from "./ngrams.ts";
import { appendBytes, extendSink, newSink, sinkAt, sinkLength } from "./sinks.ts";

const ngramLength: u32 = 4;
const ngramBlockRows: u32 = 4096;
const tokenBlockRows: u32 = 1024;

/** Makes the filter of `rows` messages, which lie in `bytes` where `offsets` say. Returns it, a stream of bytes. */
export function makePlainTextFilter(rows: u32, offsets: usize, bytes: usize): usize {
  beginTokens();
  const all = newNgrams(ngramLength);
  const own = newNgrams(ngramLength);
  const tokens = newTokens(tokenBlockRows);
  const blocks = newSink();
  for (let from: u32 = 0; from < rows; from += ngramBlockRows) {
    const to = min<u32>(rows, from + ngramBlockRows);
    addRows(own, tokens, offsets + ((<usize>from) << 2), to - from, bytes);
    if (rows > ngramBlockRows) appendBits(blocks, own);
    addAllNgrams(all, own);
    clearNgrams(own);
  }
  const filter = newSink();
  appendBits(filter, all);
  const count = extendSink(filter, 8);
  store<u64>(count, rows > ngramBlockRows ? (rows + ngramBlockRows - 1) / ngramBlockRows : 0);
  appendBytes(filter, sinkAt(blocks), sinkLength(blocks));
  const tokenFilter = finishTokens(tokens);
  appendBytes(filter, sinkAt(tokenFilter), sinkLength(tokenFilter));
  return filter;
}

function addRows(ngrams: usize, tokens: usize, offsets: usize, rows: u32, bytes: usize): void {
  const end = offsets + ((<usize>rows) << 2);
  let from = bytes + <usize>load<u32>(offsets);
  for (let at = offsets; at < end; at += 4) {
    const to = bytes + <usize>load<u32>(at, 4);
    addNgrams(ngrams, from, to);
    addTokenText(tokens, from, to);
    from = to;
  }
}

/** Appends the bits of a filter, padded to a multiple of eight bytes. */
function appendBits(sink: usize, ngrams: usize): void {
  const length = ngramFilterBytes(ngramLength);
  const padded = (length + 7) & ~7;
  const at = extendSink(sink, padded);
  memory.copy(at, ngramBits(ngrams), length);
  memory.fill(at + length, 0, padded - length);
}
