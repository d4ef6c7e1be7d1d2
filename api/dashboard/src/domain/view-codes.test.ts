import { expect, test } from "vitest";

import { codeOf } from "./view-codes";

const german = { locale: "de-CH", currency: "CHF" };
const french = { locale: "fr-CH", currency: "CHF" };
const euros = { locale: "de-CH ", currency: "EUR" };

test("the code of a view is its locale", () => {
  expect(codeOf(german, [])).toBe("de_ch");
  expect(codeOf(french, [german])).toBe("fr_ch");
});

test("views with the same locale differ by their currency", () => {
  expect(codeOf(euros, [german, french])).toBe("de_ch_eur");
  expect(codeOf(german, [euros])).toBe("de_ch_chf");
});
