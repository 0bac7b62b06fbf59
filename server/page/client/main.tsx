/** Starts the page. */

import { render } from "preact";
import { reloadWhenBroughtBack } from "./app/leave.ts";
import { Shell } from "./app/shell.tsx";

reloadWhenBroughtBack();
render(<Shell />, document.body);
