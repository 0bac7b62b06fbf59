import type { CstNode, IToken } from "chevrotain";

/*
 * Reading of what the grammar found: a node has its tokens and nodes by the name of their type or rule, in the order of the text.
 * The grammar has made sure of what is there; these only give it its type.
 */

export function childrenOf(found: CstNode, rule: string): CstNode[] {
  return (found.children[rule] ?? []) as CstNode[];
}

export function childOf(found: CstNode, rule: string): CstNode {
  return childrenOf(found, rule)[0]!;
}

export function optionalChildOf(found: CstNode, rule: string): CstNode | undefined {
  return childrenOf(found, rule)[0];
}

export function tokensOf(found: CstNode, type: string): IToken[] {
  return (found.children[type] ?? []) as IToken[];
}

/** The token that the grammar found first in this node itself. */
export function firstTokenOf(found: CstNode): IToken {
  return Object.values(found.children)
    .flat()
    .find((element) => "image" in element) as IToken;
}
