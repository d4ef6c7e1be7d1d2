/** A secret of 256 random bits, from the browser's generator. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** A secret, and whether somebody typed it. What was typed is never shown. */
export type ChosenSecret = { secret: string; own: boolean };

export const madeSecret = (): ChosenSecret => ({ secret: newSecret(), own: false });
