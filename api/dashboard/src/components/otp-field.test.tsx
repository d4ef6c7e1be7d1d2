import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";

import { Form } from "@/ui/field";

import { OtpField, otpOf } from "./otp-field";

test("a code is entered with the spaces that apps show, or replaced by a recovery code", async () => {
  const sent: (string | undefined)[] = [];
  render(
    <Form onSubmit={(form) => sent.push(otpOf(form))}>
      <OtpField />
      <button>Send</button>
    </Form>,
  );
  const code = screen.getByLabelText("Code");
  expect(code.getAttribute("autocomplete")).toBe("one-time-code");
  expect(document.activeElement).toBe(code);
  await userEvent.type(code, "123 456");
  await userEvent.click(screen.getByText("Send"));
  await userEvent.click(screen.getByText("Use a recovery code"));
  const recovery = screen.getByLabelText<HTMLInputElement>("Recovery code");
  expect(recovery.value).toBe("");
  await userEvent.type(recovery, "abcd-efgh");
  await userEvent.click(screen.getByText("Send"));
  expect(sent).toEqual(["123456", "abcd-efgh"]);
});

test("a form without the field has no code", () => expect(otpOf(new FormData())).toBeUndefined());

test("an error describes the field", () => {
  render(<OtpField error="This code is not correct." />);
  const code = screen.getByLabelText("Code");
  expect(code.getAttribute("aria-invalid")).toBe("true");
  expect(document.getElementById(code.getAttribute("aria-describedby")!)?.textContent).toBe(
    "This code is not correct.",
  );
});
