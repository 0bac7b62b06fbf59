/** Where SVC_SEED is set, properties draw from it, as all random tests do. */
import fc from "fast-check";

if (process.env.SVC_SEED !== undefined) fc.configureGlobal({ seed: Number(process.env.SVC_SEED) });
