import { bucketSecondsMax } from "../model/limits.ts";

/** `bucketSize` in the bodies of searches. */
export const bucketRange = {
  min: 0,
  max: bucketSecondsMax,
  expected: `an integer from 0 to ${bucketSecondsMax}, the seconds of a bucket (0: chosen by the range)`,
};
