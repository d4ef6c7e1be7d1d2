import { expect, test } from "vitest";

import { isLastOwner, warningOf } from "./roles";

const ada = { id: "usr_ada", role: "OWNER" } as const;
const bob = { id: "usr_bob", role: "STAFF" } as const;

test("what cannot be undone alone is asked for", () => {
  expect(warningOf(bob, "OWNER", ada.id)).toMatch(/everything/);
  expect(warningOf(ada, "ADMIN", ada.id)).toMatch(/no owner/);
  expect(warningOf(ada, "ADMIN", bob.id)).toBeUndefined();
  expect(warningOf(bob, "ADMIN", ada.id)).toBeUndefined();
});

test("a store keeps an owner", () => {
  expect(isLastOwner(ada, [ada, bob])).toBe(true);
  expect(isLastOwner(bob, [ada, bob])).toBe(false);
  expect(isLastOwner(ada, [ada, { ...bob, role: "OWNER" }])).toBe(false);
});
