import { fulfillmentTypes, fulfillments } from "@/domain/orders";
import { Checkbox, SelectField, TextField } from "@/ui/field";
import { Card } from "@/ui/page";

import { type Fields, numbers, pointWorth, staffRights, text } from "./change";
import { labelOf } from "./labels";

/** The fields of the form, the function that changes some of them, and the function that returns their errors. */
export type SectionProps = {
  fields: Fields;
  set: (change: Fields) => void;
  errorOf: (path: string) => string | undefined;
};

/** Returns the properties of a text field. */
const textOf = ({ fields, set, errorOf }: SectionProps, name: string) => ({
  name,
  label: labelOf(name),
  value: text(fields, name),
  onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  error: errorOf(name),
});

/** Returns the properties of a field for a whole number. */
const numberOf = (section: SectionProps, name: string) => ({
  ...textOf(section, name),
  type: "number",
  required: true,
  step: 1,
  ...numbers[name],
});

const checkboxOf = ({ fields, set }: SectionProps, name: string) => ({
  label: labelOf(name),
  checked: fields[name] as boolean,
  onChange: (event: { target: { checked: boolean } }) => set({ [name]: event.target.checked }),
});

export const TimeSection = (section: SectionProps) => (
  <Card title="Time">
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        {...textOf(section, "timezone")}
        required
        list="timezones"
        autoComplete="off"
        spellCheck={false}
        hint="Type to search, for example Europe/Berlin. The business days of existing orders do not change."
      />
      <datalist id="timezones">
        {Intl.supportedValuesOf("timeZone").map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <SelectField
        {...textOf(section, "businessDayCutoffHour")}
        hint="Orders before this hour count toward the previous business day."
      >
        {Array.from({ length: 24 }, (_, hour) => (
          <option key={hour} value={hour}>
            {`${String(hour).padStart(2, "0")}:00`}
          </option>
        ))}
      </SelectField>
    </div>
  </Card>
);

export const OrdersSection = (section: SectionProps) => (
  <Card title="Orders">
    <div className="grid gap-4 sm:grid-cols-3">
      {fulfillmentTypes.map((type) => (
        <TextField
          key={type}
          {...numberOf(section, `prepMinutes.${type}`)}
          hint={`From a new order to its promised time, for ${fulfillments[type].toLowerCase()}.`}
        />
      ))}
    </div>
    <div className="mt-4 grid gap-4 sm:grid-cols-2">
      <TextField
        {...numberOf(section, "orderLeadMinutes")}
        hint="The minimum time from an order to the time for which it is wanted."
      />
      <TextField
        {...numberOf(section, "orderMaxDays")}
        hint="How far ahead guests can order. 0 = no orders for later."
      />
      <TextField
        {...numberOf(section, "acceptance.remindAfterMinutes")}
        hint="Your team is reminded of an order of your shop that nobody has accepted. 0 = no reminder."
      />
      <TextField
        {...numberOf(section, "acceptance.cancelAfterMinutes")}
        hint="An order of your shop that nobody has accepted is cancelled. 0 = never."
      />
    </div>
  </Card>
);

export const LoyaltySection = ({ currencies, ...section }: SectionProps & { currencies: string[] }) => (
  <Card title="Loyalty points">
    <div className="grid gap-4 sm:grid-cols-3">
      {currencies.map((currency) => (
        <TextField
          key={currency}
          {...textOf(section, `${pointWorth}${currency}`)}
          inputMode="decimal"
          hint="Leave it empty to take no points."
        />
      ))}
      <TextField {...numberOf(section, "loyalty.minPoints")} hint="0 = no minimum." />
    </div>
  </Card>
);

export const StaffSection = (section: SectionProps) => (
  <Card title="Staff">
    <fieldset className="grid gap-3">
      <legend className="mb-3 text-sm">Members with the role STAFF may:</legend>
      {[...staffRights.map((right) => `staffMay.${right}`), "lowerTotals"].map((name) => (
        <Checkbox key={name} {...checkboxOf(section, name)} />
      ))}
    </fieldset>
  </Card>
);

export const TaxSection = (section: SectionProps) => (
  <Card title="Tax">
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        {...textOf(section, "taxRatePpm")}
        inputMode="decimal"
        required
        hint="For products without their own tax rate."
      />
      <div className="grid content-center gap-3">
        <Checkbox {...checkboxOf(section, "taxIncluded")} />
        <Checkbox {...checkboxOf(section, "taxDeliveryFee")} />
      </div>
    </div>
  </Card>
);

export const FeesSection = ({ currencies, ...section }: SectionProps & { currencies: string[] }) => (
  <Card title="Delivery fees">
    {currencies.length === 0 && (
      <p className="text-sm text-muted-foreground">
        This store has no views. Fees appear here for each currency of its views.
      </p>
    )}
    <div className="grid gap-4 sm:grid-cols-3">
      {currencies.map((currency) => (
        <TextField
          key={currency}
          {...textOf(section, `deliveryFees.${currency}`)}
          inputMode="decimal"
          hint="Leave it empty to charge no fee."
        />
      ))}
    </div>
  </Card>
);

export const ReservationsSection = (section: SectionProps) => (
  <Card title="Reservations">
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        {...numberOf(section, "seats")}
        hint="The number of guests with reservations at the same time. 0 turns reservations off."
      />
      <TextField {...numberOf(section, "reservationMinutes")} hint="For reservations without a duration." />
      <TextField {...numberOf(section, "bookingLeadMinutes")} hint="The minimum time between booking and start." />
      <TextField {...numberOf(section, "bookingMaxDays")} hint="The maximum time between booking and start." />
    </div>
  </Card>
);
