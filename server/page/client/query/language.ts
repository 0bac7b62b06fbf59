/** svcQL in the page: the very parser that the server runs. A chunk of its own, loaded when it is first needed. */

export {
  completeQuery,
  detectQueryKind,
  editQuery,
  findMistake,
  highlightQuery,
  printExplanation,
  type QueryKind,
  type QueryMistake,
  type QueryPiece,
  type WantedNames,
} from "../../../../query/index.ts";
