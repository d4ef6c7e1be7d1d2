type Request = { method: string; url: string; headers: Record<string, string[]>; body: string | null };

/** Headers that curl sets from the request. */
const ownHeaders = ["host", "content-length", "accept-encoding", "connection"];

/** Quotes a text for a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns a command that sends a request again with the same bytes, so that its signature stays valid. */
export function curlOf({ method, url, headers, body }: Request): string {
  const parts = [`curl -X ${method} ${quote(url)}`];
  for (const [name, values] of Object.entries(headers)) {
    if (ownHeaders.includes(name.toLowerCase())) continue;
    // The values of a webhook's own headers are secret and not stored.
    for (const value of values.length > 0 ? values : ["…"]) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  }
  if (body) parts.push(`--data-binary ${quote(body)}`);
  return parts.join(" \\\n  ");
}
