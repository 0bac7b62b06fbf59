/** Bodies of answers to requests that this server makes. */

/** The text of a body. Rejects with an Error of the message `problem` where it has more than `bytesMax` bytes. */
export async function readResponseText(
  response: Response,
  bytesMax: number,
  problem: string,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(problem);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
