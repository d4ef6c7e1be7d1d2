import { expect, test } from "vitest";

import { type Conditions, conditionsOf, filterOf } from "./filters";

const none: Conditions = { fulfillmentTypes: [], sources: [], minTotalMinor: null };

test.each<[string, Partial<Conditions>]>([
  ["", {}],
  ['!type.startsWith("order.") || data.fulfillmentType == "DELIVERY"', { fulfillmentTypes: ["DELIVERY"] }],
  ['!type.startsWith("order.") || data.source in ["WEB", "MOBILE"]', { sources: ["WEB", "MOBILE"] }],
  ['!type.startsWith("order.") || data.totalMinor >= 0', { minTotalMinor: 0 }],
  [
    '!type.startsWith("order.") || (data.fulfillmentType in ["PICKUP", "DELIVERY"] && ' +
      'data.source == "PHONE" && data.totalMinor >= 5000)',
    { fulfillmentTypes: ["PICKUP", "DELIVERY"], sources: ["PHONE"], minTotalMinor: 5000 },
  ],
])("%s is built from conditions and read back", (filter, conditions) => {
  expect(filterOf({ ...none, ...conditions })).toBe(filter);
  expect(conditionsOf(filter)).toEqual({ ...none, ...conditions });
});

test.each<[string, Partial<Conditions>]>([
  [" ", {}],
  [
    'data.fulfillmentType == "DELIVERY" && data.totalMinor >= 5000',
    { fulfillmentTypes: ["DELIVERY"], minTotalMinor: 5000 },
  ],
  ["data.source in['POS']\n&&data.totalMinor>=1", { sources: ["POS"], minTotalMinor: 1 }],
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
