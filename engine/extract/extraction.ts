/** Hands over one pair; returns false once the extractor may stop, for no more will be stored. */
export type Emit = (name: string, value: string) => boolean;
export type Extract = (message: string, emit: Emit) => void;
