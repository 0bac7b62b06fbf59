/** Where the object is that a resource is made of. */

export interface Managed {
  cluster: string;
  namespace?: string;
  kind?: string;
  name?: string;
}
