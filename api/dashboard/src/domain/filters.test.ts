import { expect, test } from "vitest";

import { type Conditions, conditionsOf, filterOf } from "./filters";

const none: Conditions = { fulfillmentTypes: [], sources: [], channels: [], minTotalMinor: null };

test.each<[string, Partial<Conditions>]>([
  ["", {}],
  ['!type.startsWith("order.") || data.fulfillmentType == "DELIVERY"', { fulfillmentTypes: ["DELIVERY"] }],
  ['!type.startsWith("order.") || data.source in ["WEB", "MOBILE"]', { sources: ["WEB", "MOBILE"] }],
  ['!type.startsWith("order.") || data.totalMinor >= 0', { minTotalMinor: 0 }],
  ['!type.startsWith("order.") || data.channel == "Uber Eats"', { channels: ["Uber Eats"] }],
  ['!type.startsWith("order.") || data.channel == null', { channels: [null] }],
  ['!type.startsWith("order.") || data.channel in [null, "Wolt", "null"]', { channels: [null, "Wolt", "null"] }],
  [
    '!type.startsWith("order.") || (data.fulfillmentType in ["PICKUP", "DELIVERY"] && ' +
      'data.source == "PHONE" && data.totalMinor >= 5000)',
    { fulfillmentTypes: ["PICKUP", "DELIVERY"], sources: ["PHONE"], minTotalMinor: 5000 },
  ],
])("%s is built from conditions and read back", (filter, conditions) => {
  expect(filterOf({ ...none, ...conditions })).toBe(filter);
  expect(conditionsOf(filter)).toEqual({ ...none, ...conditions });
});

test.each([
  'say "hi"',
  "it's",
  "back\\slash\\",
  '\\"',
  "a && b || (c), [d]",
  'x" || true || data.channel == "y',
  "Größe 🍕 \u2028 日本",
  "tab\tand\nlines\r",
  "\u0001\u007f\u0085",
  "// comment",
  "order.",
  " padded ",
])("the channel %j is quoted, and read back", (channel) => {
  for (const channels of [[channel], [channel, null, "Wolt"]]) {
    const conditions: Conditions = { ...none, channels, sources: ["WEB"], minTotalMinor: 1 };
    expect(conditionsOf(filterOf(conditions))).toEqual(conditions);
    expect(filterOf(conditions)).not.toMatch(/[\n\r]/);
  }
});

test("half a surrogate pair, which CEL cannot express, is replaced", () => {
  expect(filterOf({ ...none, channels: ["a\ud83d"] })).toContain('data.channel == "a\ufffd"');
});

test.each<[string, Partial<Conditions>]>([
  [" ", {}],
  [
    'data.fulfillmentType == "DELIVERY" && data.totalMinor >= 5000',
    { fulfillmentTypes: ["DELIVERY"], minTotalMinor: 5000 },
  ],
  ["data.source in['POS']\n&&data.totalMinor>=1", { sources: ["POS"], minTotalMinor: 1 }],
  ["data.channel in ['Uber Eats' , null]", { channels: ["Uber Eats", null] }],
  ["! type.startsWith('order.')||( data.source == 'WEB' )", { sources: ["WEB"] }],
])("%s, written by hand, is read into conditions", (filter, conditions) => {
  expect(conditionsOf(filter)).toEqual({ ...none, ...conditions });
});

test.each([
  "true",
  'type == "order.created"',
  'data.fulfillmentType != "DELIVERY"',
  'data.fulfillmentType == "DELIVERY" || data.totalMinor >= 5000',
  '(!type.startsWith("order.") || data.source == "WEB") && data.totalMinor >= 1',
  '!type.startsWith("order.")',
  'type.startsWith("order.") || data.source == "WEB"',
  'data.source == "WEB" && data.source == "POS"',
  'data.source in ["WEB", "WEB"]',
  "data.source in []",
  'data.source in ["WEB", data.tableLabel]',
  'data.source == "W EB"',
  'data.source == "toString"',
  'data.source == "DELIVERY"',
  'data.source == ["WEB"]',
  "data.source == null",
  'data.channel == ""',
  'data.channel == " "',
  'data.channel != "Wolt"',
  'data.channel == r"Wolt"',
  'data.channel == """Wolt"""',
  'data.channel == "W\\/olt"',
  'data.channel == "W\\x6flt"',
  'data.channel == "\\u0057olt"',
  'data.channel == "\\ud83c\\udf55"',
  "data.channel == 'it\\'s'",
  'data.channel == "Wolt" "Uber"',
  'data.channel == "Wolt',
  'data.channel in ["Wolt",]',
  'data.channel in "Wolt"',
  'data.channel in ["Wolt"], null]',
  "data.channel == Wolt",
  "data.channel.size() > 1",
  "data.totalMinor > 5000",
  "data.totalMinor >= 50.5",
  "data.totalMinor >= -1",
  "data.totalMinor >= 99999999999999999",
  'data.fulfillmentType == "DELIVERY" &&',
  'data.fulfillmentType == "DELIVERY" // or more',
  '((data.source == "WEB"))',
  '(data.source == "WEB"',
])("the controls cannot represent %s", (filter) => {
  expect(conditionsOf(filter)).toBeNull();
});
