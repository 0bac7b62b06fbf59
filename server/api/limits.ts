/** Every limit of bodies that are not telemetry, each with its reason. */

import { MiB } from "../model/limits.ts";

/** Bytes of a JSON body other than telemetry: a dashboard of hundreds of widgets takes a tenth of it. */
export const jsonBodyBytesMax = 2 * MiB;
/** Frames of one zstd body: each costs a call, and an empty one has nine bytes. */
export const zstdFramesMax = 10_000;
/** Nested objects and arrays of a JSON body: no dashboard nests groups this deep, and a thousand levels end a stack. */
export const jsonDepthMax = 64;
