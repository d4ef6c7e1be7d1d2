import { expect, test } from "vitest";

import { type ServerEvent, eventReader } from "./events";

const stream = 'retry: 2000\n\n: still here\n\nevent: order\ndata: {"id":"ord_1"}\n\ndata: a\ndata:b\r\n\r\nevent: order\ndata: unfinished';

test.each([1, 2, 7, 1000])("events are read whatever the pieces are: %i characters", (size) => {
  const got: ServerEvent[] = [];
  const read = eventReader((event) => got.push(event));
  for (let at = 0; at < stream.length; at += size) read(stream.slice(at, at + size));
  expect(got).toEqual([
    { event: "order", data: '{"id":"ord_1"}' },
    { event: "message", data: "a\nb" },
  ]);
});
