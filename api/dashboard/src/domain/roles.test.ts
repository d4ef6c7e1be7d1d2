import { expect, test } from "vitest";

import { isLastOwner, warningOf } from "./roles";

const ada = { id: "usr_ada", role: "OWNER" } as const;
const bob = { id: "usr_bob", role: "STAFF" } as const;

test("role changes that the user cannot undo have a warning", () => {
  expect(warningOf(bob, "OWNER", ada.id)).toMatch(/full access/);
  expect(warningOf(ada, "ADMIN", ada.id)).toMatch(/no longer be an owner/);
  expect(warningOf(ada, "ADMIN", bob.id)).toBeUndefined();
  expect(warningOf(bob, "ADMIN", ada.id)).toBeUndefined();
});

test("isLastOwner finds the only owner of a team", () => {
  expect(isLastOwner(ada, [ada, bob])).toBe(true);
  expect(isLastOwner(bob, [ada, bob])).toBe(false);
  expect(isLastOwner(ada, [ada, { ...bob, role: "OWNER" }])).toBe(false);
});
