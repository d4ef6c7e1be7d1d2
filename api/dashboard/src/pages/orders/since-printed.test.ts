import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";

import type { Order } from "@/domain/orders";

import { readSlip } from "./since-printed";

const server = vi.hoisted(() => ({ version: 3, changes: [] as number[] }));

const order = (version: number, printedVersion: number | null = 1) =>
  ({ id: "ord_1", version, printedVersion, items: [{ id: `item of ${version}` }] }) as unknown as Order;

vi.mock("@/api/client", async (original) => ({
  ...(await original()),
  api: {
    GET: (path: string) => {
      if (path === "/orders/{id}") return Promise.resolve({ data: order(server.version) });
      const version = server.changes.shift() ?? server.version;
      return Promise.resolve({
        data: {
          version,
          changedFields: ["customerId", "discountMinor", "items", "note"],
          itemChanges: [{ itemId: `changed in ${version}` }],
        },
      });
    },
  },
}));

test("a slip shows the changes up to the version that it shows and records", async () => {
  const slip = await readSlip(new QueryClient(), order(2));
  expect(slip).toEqual({
    order: order(3),
    changes: { items: [{ itemId: "changed in 3" }], fields: ["customer", "note"] },
  });
});

test("an order that changes with each read has no slip", async () => {
  server.changes = [4, 5, 6, 7, 8, 9];
  await expect(readSlip(new QueryClient(), order(2))).rejects.toThrow("changes faster");
});

test("an order without a slip has no changes", async () => {
  expect(await readSlip(new QueryClient(), order(2, null))).toEqual({
    order: order(2, null),
    changes: { items: [], fields: [] },
  });
});
