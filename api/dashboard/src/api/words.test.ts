import { expect, test } from "vitest";

import { ApiError } from "./client";
import { wordsOf } from "./words";

test.each([
  [new ApiError(409, "LAST_OWNER", "a store must keep an OWNER"), /Make somebody else an owner first/],
  [new ApiError(409, "VERSION_MISMATCH", "it has version 3 by now"), /Somebody else has just changed this/],
  [new ApiError(429, "RATE_LIMITED", "too many requests", undefined, [], 7), /Wait 7 seconds/],
  [new ApiError(500, "INTERNAL", "the request could not be served"), /The service has a problem/],
  [new ApiError(409, "CONFLICT", "ada@example.com is a member already"), /^Ada@example.com is a member already\.$/],
  [new ApiError(0, "UNREACHABLE", "The service cannot be reached."), /^The service cannot be reached\.$/],
  [new TypeError("x is undefined"), /Something unexpected/],
])("%s", (error, words) => expect(wordsOf(error)).toMatch(words));
