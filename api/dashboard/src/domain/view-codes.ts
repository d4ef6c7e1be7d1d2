type View = { locale: string; currency: string };

/** Returns the usual code of a view: "de_at" for de-AT, or "de_at_eur" if another view has the same locale. */
export function codeOf({ locale, currency }: View, others: View[]): string {
  const code = locale.trim().toLowerCase().replaceAll("-", "_");
  const same = others.some((other) => other.locale.trim().toLowerCase() === locale.trim().toLowerCase());
  return same ? `${code}_${currency.trim().toLowerCase()}` : code;
}
