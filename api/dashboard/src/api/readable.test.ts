import { ComandaError } from "@comanda/client";
import { beforeEach, expect, test } from "vitest";

import { fieldErrors } from "./client";
import { errorMessage } from "./error-message";
import { readable, readablePath, setMessageClock } from "./readable";

beforeEach(() => setMessageClock({ locale: "en-GB", timezone: "Europe/Berlin" }));

test.each([
  [
    "startAt must be between 2026-03-14T12:00:00.000Z and 2026-07-14T12:30:00.000Z",
    "the time must be between 14 Mar 2026, 13:00 and 14 Jul 2026, 14:30",
  ],
  ["durationMinutes must be 15 or more", "duration minutes must be 15 or more"],
  ["the store takes no orders for DINE_IN now", "the store takes no orders for dine in now"],
  ["johnSmith@example.com is taken; send durationMinutes.", "johnSmith@example.com is taken; send duration minutes."],
  ["an OWNER of McDuck must do this", "an OWNER of McDuck must do this"],
])("%s", (message, wanted) => expect(readable(message)).toBe(wanted));

test("paths are words", () => {
  expect(readablePath("items[0].quantity")).toBe("items 1, quantity");
  expect(readablePath("partySize")).toBe("the number of guests");
});

test("messages of the API and of its members are readable", () => {
  const error = new ComandaError({
    status: 422,
    code: "VALIDATION_FAILED",
    message: "startAt must be after 2026-03-14T12:00:00.000Z",
    details: [{ path: "startAt", message: "must be after 2026-03-14T12:00:00.000Z" }],
  });
  expect(errorMessage(error)).toBe("The time must be after 14 Mar 2026, 13:00.");
  expect(fieldErrors(error)("startAt")).toBe("must be after 14 Mar 2026, 13:00");
});
