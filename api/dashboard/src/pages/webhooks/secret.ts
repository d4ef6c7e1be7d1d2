/** Returns a secret of 256 random bits in base64url. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** A secret, and whether the user entered it. An entered secret is never shown. */
export type ChosenSecret = { secret: string; own: boolean };

export const generatedSecret = (): ChosenSecret => ({ secret: newSecret(), own: false });
