import { beforeAll, describe, expect, test } from "vitest";

import { internationalPhone, loadPhoneRules } from "./phone";

test("a number stays as it was typed until the rules are loaded", () =>
  expect(internationalPhone("0151 23-45", "DE")).toBe("01512345"));

describe("with the rules", () => {
  beforeAll(loadPhoneRules);

  test.each([
    ["0151 2345678", "DE", "+491512345678"],
    ["+49 (151) 234-5678", "CH", "+491512345678"],
    ["044 668 18 00", "CH", "+41446681800"],
    ["06 6982", "IT", "+39066982"], // Italy keeps the zero
    ["(212) 555-0100", "US", "+12125550100"],
    ["12", "ZZ", "12"],
    ["", "DE", ""],
  ])("%s in %s is %s", (text, country, wanted) => expect(internationalPhone(text, country)).toBe(wanted));
});
