import type * as z from "zod";
import { nameText, strictObject } from "./schema.ts";

/** An environment is a monitored cluster: its token stamps its name on every row. The name is its id. */
export const environmentShape = strictObject({ name: nameText }).meta({ id: "Environment" });

export type Environment = z.infer<typeof environmentShape>;
