/** The largest position, as in the API, and the usual distance between two products. */
const largest = 1_000_000_000;
const distance = 1000;

export type Placed = { id: string; position: number };

/** Reports whether products between which `between` others are wanted can keep their positions. */
function fits(before: Placed, after: Placed, between: number): boolean {
  if (between > 0) return after.position - before.position > between;
  return (
    before.position < after.position || (before.position === after.position && before.id < after.id) // as in the API
  );
}

/**
 * Returns the fewest changes of positions after which the products have the wanted order. Products with the same
 * position are sorted by id, as in the API.
 */
export function planPositions(wanted: Placed[]): Placed[] {
  const n = wanted.length;
  // kept[i] is the largest number of products up to i that keep their position, if product i does.
  const kept: number[] = [];
  const previous: number[] = [];
  let last = -1;
  for (let i = 0; i < n; i++) {
    kept.push(wanted[i]!.position >= i ? 1 : -Infinity);
    previous.push(-1);
    for (let j = 0; j < i; j++) {
      if (kept[j]! + 1 > kept[i]! && fits(wanted[j]!, wanted[i]!, i - j - 1)) {
        kept[i] = kept[j]! + 1;
        previous[i] = j;
      }
    }
    const room = wanted[i]!.position + (n - 1 - i) <= largest;
    if (room && kept[i]! > (last < 0 ? 0 : kept[last]!)) last = i;
  }
  const stays = new Set<number>();
  for (let i = last; i >= 0; i = previous[i]!) stays.add(i);
  const changes: Placed[] = [];
  let low = -1;
  for (let i = 0; i < n; i++) {
    if (stays.has(i)) {
      low = wanted[i]!.position;
      continue;
    }
    let end = i;
    while (end < n && !stays.has(end)) end++;
    const count = end - i;
    const start = Math.max(low, 0);
    const high = end < n ? wanted[end]!.position : Math.min(start + distance * (count + 1), largest + 1);
    for (let k = 0; k < count; k++) {
      const position = Math.floor(low + ((high - low) * (k + 1)) / (count + 1));
      changes.push({ id: wanted[i + k]!.id, position });
    }
    i = end - 1;
  }
  return changes;
}
