// Regions that have a name but no country code in ISO 3166-1.
const others = new Set("AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ".split(" "));

const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

/** Returns the country codes of ISO 3166-1 with their names, sorted by name. */
export function countries(locale: string): [code: string, name: string][] {
  const names = new Intl.DisplayNames(locale, { type: "region", fallback: "none" });
  return letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter((code) => !others.has(code) && new Intl.Locale(`und-${code}`).region === code) // otherwise withdrawn
    .flatMap((code): [string, string][] => {
      const name = names.of(code);
      return name ? [[code, name]] : [];
    })
    .sort(([, a], [, b]) => a.localeCompare(b, locale));
}
