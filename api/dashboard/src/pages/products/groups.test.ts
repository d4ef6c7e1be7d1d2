import { ComandaError } from "@comanda/client";
import { expect, test } from "vitest";

import {
  type Views,
  copyOf,
  errorsIn,
  groupDrafts,
  groupErrors,
  groupsRequest,
  moved,
  newGroup,
  refusedGroups,
  ruleOf,
} from "./groups";

const views: Views = { currencies: ["EUR", "JPY"], locales: ["de-DE", "en-US"] };

const group = {
  id: "grp_1",
  name: "Extras",
  translations: { de: { name: "Beilagen" } },
  minSelections: 0,
  maxSelections: 2,
  options: [
    {
      id: "opt_1",
      name: "Olives",
      translations: {},
      priceMinor: 150,
      prices: { JPY: 200 },
      isAvailable: true,
      maxQuantity: 2,
    },
  ],
};

test("an unchanged draft requests the group as it is", () => {
  const [draft] = groupDrafts([group], "EUR", views);
  expect(draft).toMatchObject({ shown: "de", texts: { "en-US": "", de: "Beilagen" } });
  expect(draft!.options[0]).toMatchObject({ shown: "", texts: { "en-US": "" }, prices: { EUR: "1.50", JPY: "200" } });
  expect(groupsRequest([draft!], "EUR")).toEqual([group]);
});

test("a new group is free in every currency, and a copy has no ids", () => {
  const added = { ...newGroup(views), name: "Size" };
  expect(groupErrors([added], "EUR")).toEqual({ [`${added.options[0]!.key}.name`]: "Enter a name" });
  const [copy] = groupsRequest([copyOf(groupDrafts([group], "EUR", views)[0]!)], "JPY");
  expect(copy).toMatchObject({ id: undefined, name: "Extras" });
  expect(copy!.options[0]).toMatchObject({ id: undefined, priceMinor: 200, prices: { EUR: 150 } });
});

test("groupErrors finds bounds that no choice can meet, and invalid amounts", () => {
  const [draft] = groupDrafts([group], "EUR", views);
  const errors = (change: object) => Object.values(groupErrors([{ ...draft!, ...change }], "EUR"));
  expect(errors({})).toEqual([]);
  expect(errors({ min: "3" })).toEqual(["Must not exceed the maximum"]);
  expect(errors({ min: "3", max: "4" })).toEqual(["The options allow only 2"]);
  expect(errors({ max: "0" })).toEqual(["Enter a number from 1 to 999"]);
  expect(errors({ min: "x" })).toEqual(["Enter a number from 0 to 999"]);
  expect(errors({ options: [] })).toEqual(["Add an option, or remove the group"]);
  const [option] = draft!.options;
  expect(errors({ options: [{ ...option!, prices: { EUR: "", JPY: "1.5" } }] })).toEqual([
    "Enter an amount, such as 1.50",
    "Enter an amount, such as 1.50",
  ]);
});

test("refusals of the API belong to their fields, also after the user has moved a group", () => {
  const groups = groupDrafts([group, group, group], "EUR", views);
  const key = groups[2]!.options[0]!.key;
  const refused = (path: string) =>
    refusedGroups(
      new ComandaError({ status: 400, code: "VALIDATION_FAILED", message: "", details: [{ path, message: "x" }] }),
      groups,
      "EUR",
    );
  expect(refused("optionGroups[2].options[0].priceMinor")).toEqual({ [`${key}.prices.EUR`]: "x" });
  expect(refused("optionGroups[2].options[0].prices.JPY")).toEqual({ [`${key}.prices.JPY`]: "x" });
  expect(refused("optionGroups[2].options[0].translations.en-US.name")).toEqual({ [`${key}.texts.en-US`]: "x" });
  expect(refused("optionGroups[1].maxSelections")).toEqual({ [`${groups[1]!.key}.max`]: "x" });
  expect(refused("optionGroups[9].name")).toEqual({});
  expect(refused("priceMinor")).toEqual({});
  expect(errorsIn({ [`${key}.max`]: "x", [`${groups[2]!.key}.max`]: "y" }, groups[2]!)).toBe(2);
  expect(errorsIn({ [`${key}.max`]: "x" }, groups[1]!)).toBe(0);
});

test("moved moves one element", () => {
  expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
});

test.each([
  ["0", "1", "choose up to 1"],
  ["1", "1", "choose exactly 1"],
  ["2", "3", "choose 2 to 3"],
])("the rule of %s to %s is: %s", (min, max, rule) => {
  expect(ruleOf({ min, max })).toBe(rule);
});
