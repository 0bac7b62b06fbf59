/** How numbers and names are written in sentences of investigations. */

/** The last part of a service's name: `/k8s/shop/cart` is cart. */
export function nameService(service: string): string {
  return service === "" ? "(no service name)" : service.split("/").at(-1)!;
}

export function nameOperation(operation: string): string {
  return operation === "" ? "an unnamed operation" : `“${operation}”`;
}

export function nameShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function nameMs(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1_000).toPrecision(3))} s`;
}
