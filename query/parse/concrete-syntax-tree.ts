import type { CstNode, IToken } from "chevrotain";

/*
 * Typed access to Chevrotain's concrete syntax tree. A node lists its child nodes by rule and its tokens by token type,
 * each list in the order of the text. The parser has already checked what must be there, so nothing is checked again.
 */

export function childrenOf(cst: CstNode, rule: string): CstNode[] {
  return (cst.children[rule] ?? []) as CstNode[];
}

export function childOf(cst: CstNode, rule: string): CstNode {
  return childrenOf(cst, rule)[0]!;
}

export function optionalChildOf(cst: CstNode, rule: string): CstNode | undefined {
  return childrenOf(cst, rule)[0];
}

export function tokensOf(cst: CstNode, type: string): IToken[] {
  return (cst.children[type] ?? []) as IToken[];
}

/** The first token that belongs to this node itself, not to a child node. */
export function firstTokenOf(cst: CstNode): IToken {
  return Object.values(cst.children)
    .flat()
    .find((element) => "image" in element) as IToken;
}

/** The first token of the text that the node was parsed from. */
export function beginOf(cst: CstNode): IToken {
  const tokens = Object.values(cst.children)
    .flat()
    .map((element) => ("image" in element ? element : beginOf(element)));
  return tokens.reduce((first, token) => (token.startOffset < first.startOffset ? token : first));
}
