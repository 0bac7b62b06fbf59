import { fixed, nameText } from "../shape.ts";

/** An environment is a monitored cluster: its token stamps its name on every row. The name is its id. */
export const environmentShape = fixed({ name: nameText }).meta({ id: "Environment" });
