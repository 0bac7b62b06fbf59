import type { CstNode, IToken } from "chevrotain";

/*
 * Reading of what the grammar found: a node has its tokens and nodes by the name of their type or rule, in the order of the text.
 * The grammar has made sure of what is there; these only give it its type.
 */

export function children(found: CstNode, rule: string): CstNode[] {
  return (found.children[rule] ?? []) as CstNode[];
}

export function child(found: CstNode, rule: string): CstNode {
  return children(found, rule)[0]!;
}

export function optionalChild(found: CstNode, rule: string): CstNode | undefined {
  return children(found, rule)[0];
}

export function tokens(found: CstNode, type: string): IToken[] {
  return (found.children[type] ?? []) as IToken[];
}

/** The token that the grammar found first in this node itself. */
export function firstToken(found: CstNode): IToken {
  return Object.values(found.children)
    .flat()
    .find((element) => "image" in element) as IToken;
}
