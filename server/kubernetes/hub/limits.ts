/** Every limit of what exporters send and ask, each with its reason. */

/** Objects of one request: a request is answered when all of them are stored. */
export const objectsMax = 500;
/** Names of one request that says which objects are there: the names of 20,000 objects fit a JSON body. */
export const keptNamesMax = 20_000;
/** Objects of one request that are stored at a time; writes that wait together share a sync of the disk. */
export const objectsAtOnce = 32;
/** How long a poll of the channel waits for something to say. Proxies end idle requests after 30 s or more. */
export const pollMsMax = 20_000;
/** An exporter that has not polled for this long counts as away. */
export const exporterAwayMs = pollMsMax + 15_000;
/** How long a delivery waits for the value of a Secret. It is tried again later. */
export const secretMsMax = 5_000;
/** Secrets that are asked of one exporter at the same time. */
export const secretsAskedMax = 256;
/** Bytes of a Secret's value: objects of Kubernetes have a megabyte at most, and no header has more than this. */
export const secretBytesMax = 64 * 1024;
/** The name of the hub's own cluster: whose groups are not those of any exporter. */
export const ownClusterName = "hub";
