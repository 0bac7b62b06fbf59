/** Names of services and of shares, as people read them. */

/** The last part of a name such as `/k8s/shop/cart`, which people call the service by. */
export function nameService(name: string): string {
  if (name === "") return "(no service name)";
  return /^\/k8s\/[^/]+\/(.+)$/.exec(name)?.[1] ?? name;
}

/** Such as `2.5 %`. */
export function nameShare(share: number): string {
  const percent = share * 100;
  return `${percent !== 0 && percent < 0.1 ? "<0.1" : Number(percent.toPrecision(2))} %`;
}
