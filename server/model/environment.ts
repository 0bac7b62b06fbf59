import type * as z from "zod";
import { fixed, nameText } from "./schema.ts";

/** An environment is a monitored cluster: its token stamps its name on every row. The name is its id. */
export const environmentShape = fixed({ name: nameText }).meta({ id: "Environment" });

export type Environment = z.infer<typeof environmentShape>;
