/** Environments: the monitored clusters. */

import type * as z from "zod";
import { nameText, strictObject } from "./schema.ts";

/** A monitored cluster. Its token stamps its name on every row. The name is its id. */
export const environmentShape = strictObject({ name: nameText }).meta({ id: "Environment" });

export type Environment = z.infer<typeof environmentShape>;
