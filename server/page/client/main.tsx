/** Starts the page. */

import { render } from "preact";
import { Shell } from "./app/shell.tsx";

render(<Shell />, document.body);
