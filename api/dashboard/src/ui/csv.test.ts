import { expect, test } from "vitest";

import { unitsOf } from "@/domain/money";

import { csvOf, separatorIn } from "./csv";

test("csvOf quotes separators and disarms formulas", () => {
  expect(
    csvOf(
      ["a", "b"],
      [
        ['=HYPERLINK("x")', 1.5],
        ["one,\ntwo", null],
        ["+49", "-1"],
        ["plain", -2],
      ],
      ",",
    ),
  ).toBe("\uFEFFa,b\r\n" + `"'=HYPERLINK(""x"")",1.5\r\n` + '"one,\ntwo",\r\n' + "'+49,'-1\r\n" + "plain,-2\r\n");
});

test("csvOf marks formulas after apostrophes, so that one apostrophe can be removed from each marked text", () => {
  const texts = ["=1", "'=1", "'" + "'-1", "'s", "'"];
  const marked = csvOf(
    ["a"],
    texts.map((text) => [text]),
    ",",
  )
    .slice(1)
    .trimEnd()
    .split("\r\n")
    .slice(1);
  expect(marked).toEqual(["'=1", "''=1", "'" + "'" + "'-1", "'s", "'"]);
  expect(marked.map((text) => text.replace(/^'(?='*[=+\-@\t\r])/, ""))).toEqual(texts);
});

test("the separator is that of the locale's spreadsheets", () => {
  expect(separatorIn("en-US")).toBe(",");
  expect(separatorIn("de-DE")).toBe(";");
  expect(
    csvOf(
      ["a", "b"],
      [
        ["x;y", true],
        [-1.5, 2],
      ],
      ";",
    ),
  ).toBe('\uFEFFa;b\r\n"x;y";true\r\n-1,5;2\r\n');
});

test("amounts have the decimals of their currency", () => {
  const cells = ["HUF", "RSD", "IQD", "JPY", "KWD"].map((currency) => unitsOf(1250, currency));
  expect(csvOf(["a"], [cells], ",")).toBe("\uFEFFa\r\n12.5,12.5,1.25,1250,1.25\r\n");
  expect(csvOf(["a"], [cells], ";")).toBe("\uFEFFa\r\n12,5;12,5;1,25;1250;1,25\r\n");
});
