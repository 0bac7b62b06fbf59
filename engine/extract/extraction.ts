/** The callback interface between extractors and what stores their results. */

/** Receives one extracted attribute; returns false where the extractor should stop, because no more will be stored. */
export type Emit = (name: string, value: string) => boolean;
/** Calls `emit` with each attribute that it extracts from a message. */
export type Extract = (message: string, emit: Emit) => void;
