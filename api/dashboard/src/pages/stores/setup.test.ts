import { expect, test } from "vitest";

import { type Parts, stepsOf } from "./setup";

const empty: Parts = {
  views: 1,
  openSpans: 0,
  products: 0,
  taxRatePpm: 0,
  taxedProducts: 0,
  noTax: false,
  users: 1,
  webhooks: 0,
  apiKeys: 0,
  orders: 0,
};

const done = (parts: Partial<Parts>) =>
  stepsOf({ ...empty, ...parts })
    .filter((step) => step.done)
    .map((step) => step.title);

test("a new store has its name and views only", () => expect(done({})).toEqual(["Name and views"]));

test.each([
  ["Opening hours", { openSpans: 5 }],
  ["Menu", { products: 1 }],
  ["Tax", { taxRatePpm: 70_000 }],
  ["Tax", { taxedProducts: 1 }],
  ["Tax", { noTax: true }],
  ["Team", { users: 2 }],
  ["Webhook or API key", { webhooks: 1 }],
  ["Webhook or API key", { apiKeys: 1 }],
  ["Test order", { orders: 1 }],
])("%s is done with %j", (title, parts) => expect(done(parts)).toEqual(["Name and views", title]));

test("an admin, who cannot read users and API keys, has no step for the team", () => {
  const titles = stepsOf({ ...empty, users: undefined, apiKeys: undefined }).map((step) => step.title);
  expect(titles).not.toContain("Team");
  expect(titles).toContain("Webhook or API key");
});

test("no opening hours and no tax can be confirmed", () => {
  const confirmable = stepsOf(empty).filter(({ confirm }) => confirm);
  expect(confirmable.map(({ title }) => title)).toEqual(["Opening hours", "Tax"]);
});
