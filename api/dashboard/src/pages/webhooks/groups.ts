/**
 * Returns rows with those of one event together, at the place of the first of them. `first` marks the first row of each
 * event.
 */
export function byEvent<Row extends { eventId: string }>(rows: Row[]): { row: Row; first: boolean }[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.eventId, [...(groups.get(row.eventId) ?? []), row]);
  return [...groups.values()].flatMap((group) => group.map((row, index) => ({ row, first: index === 0 })));
}
