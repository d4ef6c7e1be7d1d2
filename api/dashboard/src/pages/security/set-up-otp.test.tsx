import { ComandaError } from "@comanda/client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";

import { SetUpDialog } from "./set-up-otp";

afterEach(() => vi.restoreAllMocks());

const secret = "JBSWY3DPEHPK3PXP";
const pending = { secret, otpauthUrl: `otpauth://totp/Comanda:ada@example.com?secret=${secret}&issuer=Comanda` };

test("the set-up asks for the password, shows the key and confirms a code", async () => {
  const sent: [string, unknown][] = [];
  vi.spyOn(api, "POST").mockImplementation(((
    path: string,
    { body }: { body: { password?: string; code?: string } },
  ) => {
    sent.push([path, body]);
    if (body.password === "wrong")
      return Promise.reject(new ComandaError({ status: 401, code: "INVALID_CREDENTIALS", message: "wrong" }));
    if (body.code === "000000")
      return Promise.reject(
        new ComandaError({
          status: 400,
          code: "VALIDATION_FAILED",
          message: "wrong",
          details: [{ path: "code", message: "is not valid" }],
        }),
      );
    return Promise.resolve({ data: body.code ? { recoveryCodes: ["aaaa-bbbb"] } : pending });
  }) as never);
  const codes: string[][] = [];
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SetUpDialog onClose={() => {}} onCodes={(shown) => codes.push(shown)} />
    </QueryClientProvider>,
  );
  await userEvent.type(await screen.findByLabelText("Password"), "wrong");
  await userEvent.click(screen.getByText("Continue"));
  await screen.findByText("This is not your current password.");
  expect(screen.queryByRole("alert")).toBeNull(); // the field shows the error
  await userEvent.clear(screen.getByLabelText("Password"));
  await userEvent.type(screen.getByLabelText("Password"), "right");
  await userEvent.click(screen.getByText("Continue"));

  expect((await screen.findByTestId("otp-secret")).textContent).toBe(secret);
  expect(screen.getByTestId("otp-qr").tagName).toBe("svg");
  await userEvent.type(screen.getByLabelText("Code"), "000000");
  await userEvent.click(screen.getByText("Switch on"));
  await screen.findByText("This code is not correct. Enter the code that the app shows now.");
  await userEvent.clear(screen.getByLabelText("Code"));
  await userEvent.type(screen.getByLabelText("Code"), "123 456");
  await userEvent.click(screen.getByText("Switch on"));
  await expect.poll(() => codes).toEqual([["aaaa-bbbb"]]);
  expect(sent).toEqual([
    ["/auth/otp", { password: "wrong" }],
    ["/auth/otp", { password: "right" }],
    ["/auth/otp/confirm", { code: "000000" }],
    ["/auth/otp/confirm", { code: "123456" }],
  ]);
});
