import { expect, test } from "vitest";

import { promises } from "./promise";

test("the times are counted from now or from the requested time", () => {
  const now = Date.parse("2026-03-14T12:00:00.000Z");
  expect(promises({ requestedFor: null }, now)[0]).toBe("2026-03-14T12:10:00.000Z");
  expect(promises({ requestedFor: "2026-03-14T11:00:00.000Z" }, now)[0]).toBe("2026-03-14T12:10:00.000Z");
  expect(promises({ requestedFor: "2026-03-14T19:00:00.000Z" }, now)[0]).toBe("2026-03-14T19:10:00.000Z");
});
