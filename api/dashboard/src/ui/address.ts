type Address = {
  line1: string;
  line2?: string | null;
  city: string;
  region?: string | null;
  postalCode?: string | null;
  country: string;
};

/** Returns the lines of an address, with the name of the country. */
export function addressLines({ line1, line2, city, region, postalCode, country }: Address, locale: string): string[] {
  const name = new Intl.DisplayNames(locale, { type: "region" }).of(country);
  return [line1, line2, `${postalCode ?? ""} ${city}`.trim(), region, name].filter((line) => !!line) as string[];
}
