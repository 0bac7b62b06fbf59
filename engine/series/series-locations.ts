/** Finds, for each series of a task, the chunks that have samples of it. */

/** Where the series of a task have samples. Location i is a series in a chunk. */
export interface SeriesLocations {
  /** Series s has the locations [offsets[s], offsets[s + 1]). */
  offsets: Uint32Array;
  /** Chunk of each location, as its index in the list of chunks. */
  chunks: Uint32Array;
  /** Index of the series in that chunk. */
  indices: Uint32Array;
}

/** The series that a chunk has. */
export interface ChunkSeries {
  /** Number of each series within the task. */
  seriesNumbers: number[];
  /** Index of each series within the chunk. */
  indices: number[];
}

/** Locates `series` series in chunks. The locations of a series keep the order of the chunks. */
export function locateSeries(selected: readonly ChunkSeries[], series: number): SeriesLocations {
  const offsets = new Uint32Array(series + 1);
  for (const { seriesNumbers } of selected) for (const number of seriesNumbers) offsets[number + 1]!++;
  for (let number = 0; number < series; number++) offsets[number + 1]! += offsets[number]!;
  const next = offsets.slice();
  const chunks = new Uint32Array(offsets[series]!);
  const indices = new Uint32Array(offsets[series]!);
  for (const [chunk, part] of selected.entries()) {
    for (let i = 0; i < part.seriesNumbers.length; i++) {
      const at = next[part.seriesNumbers[i]!]!++;
      chunks[at] = chunk;
      indices[at] = part.indices[i]!;
    }
  }
  return { offsets, chunks, indices };
}
