/** The part of the server that investigates. */

import type { Part } from "../api/part.ts";
import type { Searches } from "../search/searches.ts";
import { investigationRoute } from "./route.ts";

export function investigatePart({ searches }: { searches: Searches }): Part {
  return { routes: [investigationRoute(searches)] };
}
