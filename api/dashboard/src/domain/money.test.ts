import { expect, test } from "vitest";

import { formatMoney, localDecimals, parseMoney, plainMoney, unitsOf } from "./money";

// The Intl of browsers has other decimals than ISO 4217 for some currencies, for example none for HUF, IQD and RSD. The
// currencies differ between versions.
test.each([
  ["EUR", 55000, "550.00", "€550.00", 550],
  ["HUF", 55000, "550.00", "HUF\u00a0550.00", 550],
  ["RSD", 55000, "550.00", "RSD\u00a0550.00", 550],
  ["RSD", 1, "0.01", "RSD\u00a00.01", 0.01],
  ["IQD", 1250500, "1250.500", "IQD\u00a01,250.500", 1250.5],
  ["KWD", 1250, "1.250", "KWD\u00a01.250", 1.25],
  ["JPY", 1200, "1200", "¥1,200", 1200],
])("%s has the decimals of the service", (currency, minor, text, formatted, units) => {
  expect(formatMoney(minor, currency, "en")).toBe(formatted);
  expect(plainMoney(minor, currency)).toBe(localDecimals(text));
  expect(parseMoney(text, currency)).toBe(minor);
  expect(parseMoney(`${units}`, currency)).toBe(minor);
  expect(unitsOf(minor, currency)).toBe(units);
});

test("an amount has at most the decimals of its currency", () => {
  for (const [text, currency] of [
    ["5.505", "RSD"],
    ["5.5055", "IQD"],
    ["5.5", "JPY"],
    ["5.5055", "KWD"],
    ["", "EUR"],
    ["-1", "EUR"],
  ] as const)
    expect(parseMoney(text, currency), `${text} ${currency}`).toBeNull();
});
