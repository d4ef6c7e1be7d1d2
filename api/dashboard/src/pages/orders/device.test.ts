// @vitest-environment jsdom

import { beforeEach, expect, test } from "vitest";

import { changeDeviceSettings, claimPrint, defaults, deviceSettings, parseSettings } from "./device";

beforeEach(() => localStorage.clear());

test("parseSettings keeps valid values and replaces the others", () => {
  expect(parseSettings(null)).toEqual(defaults);
  expect(parseSettings("not JSON")).toEqual(defaults);
  expect(parseSettings("null")).toEqual(defaults);
  expect(parseSettings('{"volume":200,"repeatSeconds":0,"sound":"yes","paper":"A5","print":"x"}')).toEqual(defaults);
  const own = { ...defaults, sound: true, volume: 0, repeatSeconds: 2, paper: "A4", print: "both", big: true };
  expect(parseSettings(JSON.stringify(own))).toEqual(own);
});

/** Changes the stored settings as another tab does. */
function inOtherTab(settings: object, event = true) {
  const newValue = JSON.stringify({ ...defaults, ...settings });
  localStorage.setItem("comanda.board", newValue);
  if (event) dispatchEvent(new StorageEvent("storage", { key: "comanda.board", newValue }));
}

test("the settings follow those of another tab", () => {
  expect(deviceSettings().volume).toBe(defaults.volume);
  inOtherTab({ volume: 10 });
  expect(deviceSettings().volume).toBe(10);
});

test("a change keeps what another tab has changed", () => {
  inOtherTab({ paper: "A4" }, false);
  changeDeviceSettings({ volume: 20 });
  expect(deviceSettings()).toMatchObject({ paper: "A4", volume: 20 });
  expect(parseSettings(localStorage.getItem("comanda.board"))).toMatchObject({ paper: "A4", volume: 20 });
});

test("an order is printed once on a device", async () => {
  localStorage.setItem("comanda.printed", "{}"); // not written by this page
  expect([await claimPrint("ord_1"), await claimPrint("ord_2"), await claimPrint("ord_1")]).toEqual([
    true,
    true,
    false,
  ]);
  for (let i = 0; i < 200; i++) await claimPrint(`later_${i}`);
  expect((JSON.parse(localStorage.getItem("comanda.printed")!) as string[]).length).toBe(200);
});
