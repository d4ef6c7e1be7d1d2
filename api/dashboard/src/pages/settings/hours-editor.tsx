import { ChevronDown, Plus, X } from "lucide-react";
import { useState } from "react";

import { type Day, type Span, dayName, days, endOf } from "@/domain/opening-hours";
import { type FulfillmentType, fulfillments, fulfillmentTypes } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Input } from "@/ui/field";
import { Menu, MenuItem } from "@/ui/menu";
import { Card } from "@/ui/page";

import { hoursField, spansOf } from "./change";
import type { SectionProps } from "./sections";

type Props = SectionProps;

/** The hours with which a week begins that had none. */
const usual: Span = { from: "11:00", to: "22:00" };
const allDay: Span = { from: "00:00", to: "00:00" };

/** The opening hours by fulfillment type and weekday. */
export function HoursEditor({ fields, set, errorOf }: Props) {
  const { timezone } = useSession();
  const [type, setType] = useState<FulfillmentType>("DINE_IN");
  const faulty = (one: FulfillmentType) => days.some((day) => errorOf(hoursField(one, day)));
  const options = Object.fromEntries(
    fulfillmentTypes.map((one) => [one, faulty(one) ? `${fulfillments[one]} (check)` : fulfillments[one]]),
  ) as Record<FulfillmentType, string>;
  return (
    <Card title="Opening hours">
      <p className="mb-3 text-sm text-muted-foreground">
        Your shop accepts orders during these hours, in the time zone {timezone}. Your team can place orders at any
        time.
      </p>
      <div className="grid gap-4">
        <Choice label="Hours of" value={type} options={options} onChange={setType} />
        <Week key={type} type={type} fields={fields} set={set} errorOf={errorOf} />
      </div>
    </Card>
  );
}

function Week({ type, fields, set, errorOf }: Props & { type: FulfillmentType }) {
  const { locale } = useSession();
  const name = fulfillments[type].toLowerCase();
  const empty = days.every((day) => spansOf(fields, type, day).length === 0);
  const setDays = (spans: Span[], of: readonly Day[]) =>
    set(Object.fromEntries(of.map((day) => [hoursField(type, day), spans])));
  if (empty) {
    return (
      <div className="flex flex-wrap items-center justify-between gap-3 rounded-md border border-dashed p-4 text-sm">
        <p>Always open for {name}. To close it for some days, add a closure.</p>
        <Button variant="outline" onClick={() => setDays([usual], days)}>
          Set hours
        </Button>
      </div>
    );
  }
  const others = fulfillmentTypes.filter((one) => one !== type);
  return (
    <div className="grid gap-3">
      <ul className="grid gap-1" aria-label={`Hours for ${name}`}>
        {days.map((day) => (
          <DayRow
            key={day}
            day={day}
            spans={spansOf(fields, type, day)}
            error={errorOf(hoursField(type, day))}
            onChange={(spans) => setDays(spans, [day])}
            onCopy={(to) => setDays(spansOf(fields, type, day), to)}
          />
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        {others.map((other) => (
          <Button
            key={other}
            size="small"
            variant="outline"
            onClick={() =>
              set(Object.fromEntries(days.map((day) => [hoursField(other, day), spansOf(fields, type, day)])))
            }
          >
            Use for {fulfillments[other].toLowerCase()} too
          </Button>
        ))}
        <Button size="small" variant="outline" onClick={() => setDays([], days)}>
          Always open
        </Button>
      </div>
      {days.filter((day) => spansOf(fields, type, day).length > 0).length === 1 && (
        <p className="text-xs text-muted-foreground">
          Without the hours of the last day, {name} is always open on {dayName("mon", locale)} to{" "}
          {dayName("sun", locale)}.
        </p>
      )}
    </div>
  );
}

type DayProps = {
  day: Day;
  spans: Span[];
  error?: string;
  onChange: (spans: Span[]) => void;
  onCopy: (to: readonly Day[]) => void;
};

function DayRow({ day, spans, error, onChange, onCopy }: DayProps) {
  const { locale } = useSession();
  const name = dayName(day, locale);
  const change = (index: number, span: Partial<Span>) =>
    onChange(spans.map((one, i) => (i === index ? { ...one, ...span } : one)));
  const weekdays = days.slice(0, 5);
  return (
    <li aria-label={name} className="grid gap-2 border-b py-2 last:border-b-0 sm:grid-cols-[7rem_1fr_auto]">
      <span className="text-sm font-medium sm:pt-2">{name}</span>
      <div className="grid gap-2">
        {spans.length === 0 && <span className="text-sm text-muted-foreground sm:pt-2">Closed</span>}
        {spans.map((span, i) => (
          <div key={i} className="flex flex-wrap items-center gap-2 text-sm">
            <Input
              type="time"
              aria-label={`${name}, opens`}
              aria-invalid={error ? true : undefined}
              className="w-32 px-2"
              value={span.from}
              onChange={(event) => change(i, { from: event.target.value })}
            />
            –
            <Input
              type="time"
              aria-label={`${name}, closes`}
              aria-invalid={error ? true : undefined}
              className="w-32 px-2"
              value={span.to}
              onChange={(event) => change(i, { to: event.target.value })}
            />
            <span className="text-xs text-muted-foreground">{endOf(span)}</span>
            <Button
              size="icon"
              variant="ghost"
              aria-label={`Remove the hours of ${name}`}
              onClick={() => onChange(spans.filter((_, at) => at !== i))}
            >
              <X />
            </Button>
          </div>
        ))}
        {error && (
          <p role="alert" className="text-xs text-danger">
            {error}
          </p>
        )}
      </div>
      <div className="flex flex-wrap items-start gap-1">
        <Button
          size="small"
          variant="ghost"
          aria-label={`Add hours on ${name}`}
          onClick={() => onChange([...spans, spans.length === 0 ? usual : { from: "", to: "" }])}
        >
          <Plus aria-hidden /> Add
        </Button>
        <Button size="small" variant="ghost" aria-label={`24 hours on ${name}`} onClick={() => onChange([allDay])}>
          24 h
        </Button>
        <Menu
          label={`Copy ${name} to`}
          trigger={
            <Button size="small" variant="ghost" aria-label={`Copy ${name}`}>
              Copy <ChevronDown aria-hidden />
            </Button>
          }
        >
          <MenuItem onSelect={() => onCopy(days)}>All days</MenuItem>
          <MenuItem onSelect={() => onCopy(weekdays)}>
            {dayName("mon", locale)} to {dayName("fri", locale)}
          </MenuItem>
          {days
            .filter((other) => other !== day)
            .map((other) => (
              <MenuItem key={other} onSelect={() => onCopy([other])}>
                {dayName(other, locale)}
              </MenuItem>
            ))}
        </Menu>
      </div>
    </li>
  );
}
