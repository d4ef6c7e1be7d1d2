import { expect, test } from "vitest";

import { type Placed, planPositions } from "./positions";

const placed = (positions: number[]): Placed[] => positions.map((position, i) => ({ id: `prd_${i}`, position }));

const inMenuOrder = (products: Placed[]) =>
  [...products].sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1)).map(({ id }) => id);

/** Returns the order after the changes. */
function apply(products: Placed[], changes: Placed[]) {
  const positions = new Map(changes.map(({ id, position }) => [id, position]));
  return inMenuOrder(products.map(({ id, position }) => ({ id, position: positions.get(id) ?? position })));
}

const pick = (products: Placed[], order: number[]) => order.map((i) => products[i]!);

test("a product that moves between others is the only change", () => {
  const products = placed([0, 1000, 2000, 3000]);
  expect(planPositions(pick(products, [0, 3, 1, 2]))).toEqual([{ id: "prd_3", position: 500 }]);
  expect(planPositions(pick(products, [1, 2, 0, 3]))).toEqual([{ id: "prd_0", position: 2500 }]);
  expect(planPositions(pick(products, [1, 2, 3, 0]))).toEqual([{ id: "prd_0", position: 4000 }]);
  expect(planPositions(products)).toEqual([]);
});

test("products without positions get them as far as needed", () => {
  const products = placed([0, 0, 0, 0]);
  expect(planPositions(products)).toEqual([]);
  expect(planPositions(pick(products, [1, 2, 3, 0]))).toEqual([{ id: "prd_0", position: 1000 }]);
  expect(planPositions(pick(products, [0, 1, 3, 2]))).toHaveLength(1);
});

test("positions stay within the limits", () => {
  const products = placed([0, 1_000_000_000, 1_000_000_000]);
  const changes = planPositions(pick(products, [2, 1, 0]));
  expect(changes.every(({ position }) => position >= 0 && position <= 1_000_000_000)).toBe(true);
  expect(apply(products, changes)).toEqual(["prd_2", "prd_1", "prd_0"]);
});

test("every order can be reached, with as few changes as there can be", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  for (let round = 0; round < 300; round++) {
    const products = placed(Array.from({ length: 1 + random(6) }, () => random(8)));
    const order = products.map((_, i) => i).sort(() => random(3) - 1);
    const wanted = pick(products, order);
    const changes = planPositions(wanted);
    expect(apply(products, changes)).toEqual(wanted.map(({ id }) => id));
    expect(changes.length).toBe(fewest(wanted));
  }
});

/** Returns the fewest changes by trying all sets of products that keep their position. */
function fewest(wanted: Placed[]): number {
  let best = wanted.length;
  for (let set = 0; set < 2 ** wanted.length; set++) {
    const stay = wanted.flatMap((_, i) => (set & (1 << i) ? [i] : []));
    const possible = stay.every((i, k) => {
      if (k === 0) return wanted[i]!.position >= i;
      const j = stay[k - 1]!;
      const [a, b] = [wanted[j]!, wanted[i]!];
      return i - j === 1
        ? a.position < b.position || (a.position === b.position && a.id < b.id)
        : b.position - a.position >= i - j;
    });
    if (possible) best = Math.min(best, wanted.length - stay.length);
  }
  return best;
}
