import type { ComponentProps } from "react";

import { useSession } from "@/session/session";

import { TextField } from "./field";
import { internationalPhone, loadPhoneRules, usePhoneRules } from "./phone";

type Props = { value: string; onValue: (text: string) => void; error?: string } & Omit<
  ComponentProps<"input">,
  "value" | "onChange"
>;

/** A field for a phone number. Its hint shows the number in international format, as it is stored. */
export function PhoneField({ value, onValue, ...props }: Props) {
  usePhoneRules();
  const international = internationalPhone(value, useSession().country);
  const completed = international.startsWith("+") && !value.trim().startsWith("+");
  return (
    <TextField
      label="Phone"
      type="tel"
      autoComplete="off"
      hint={completed ? `Stored as ${international}.` : "A number without country code is one of your store's country."}
      value={value}
      onFocus={() => void loadPhoneRules()}
      onChange={(event) => onValue(event.target.value)}
      {...props}
    />
  );
}
