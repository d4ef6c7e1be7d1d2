import { expect, test } from "vitest";

import { socialChange } from "./social-fields";

const current = { google: ["a", "b"], apple: [], facebook: ["c"] };

function form(values: Record<string, string>) {
  const data = new FormData();
  for (const [name, value] of Object.entries({ google: "", apple: "", facebook: "", ...values })) data.set(name, value);
  return data;
}

test("only changed providers are sent", () => {
  expect(socialChange(current, form({ google: "b\n a \n", facebook: "c" }))).toEqual({});
  expect(socialChange(current, form({ google: "a\nb", apple: " d, e\nd ", facebook: "" }))).toEqual({
    apple: ["d", "e"],
    facebook: [],
  });
});
