import type { components } from "@comanda/client";
import { Area, AreaChart, ReferenceLine, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";

import { addDays, startOfDay } from "@/domain/zone";
import { useSession } from "@/session/session";
import { axis, grid, tooltip } from "@/ui/plot";

/** A plot of the occupied seats over a day, with the store's number of seats as a line. */
export function Seats({ day: { date, taken, seats, peak, timezone } }: { day: components["schemas"]["SeatsOfDay"] }) {
  const { locale } = useSession();
  if (peak === 0) return <p className="text-sm text-muted-foreground">No seats are taken.</p>;
  const clock = (at: number) => new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: timezone }).format(at);
  const most = Math.max(peak, seats);
  const steps = taken.map((step) => ({ at: Date.parse(step.from), seats: step.seats }));
  const midnight = Date.parse(startOfDay(addDays(date, 1), timezone));
  // The plot covers the time from the first guests to the last ones, with a quarter of an hour around it.
  const quarter = 15 * 60_000;
  const from = steps.findIndex((step) => step.seats > 0);
  const last = steps.at(-1)!;
  const first = steps[from]!;
  const shown = [
    { at: from > 0 ? first.at - quarter : first.at, seats: from > 0 ? 0 : first.seats },
    ...steps.slice(from),
    { ...last, at: last.seats > 0 ? midnight : last.at + quarter },
  ];
  // At most eight ticks, at full hours.
  const hour = 60 * 60_000;
  const [begin, end] = [shown[0]!.at, shown.at(-1)!.at];
  const every = Math.max(1, Math.ceil((end - begin) / hour / 8)) * hour;
  const dawn = Date.parse(startOfDay(date, timezone));
  const hours = Array.from({ length: 25 }, (_, i) => dawn + i * every).filter((at) => at >= begin && at <= end);
  return (
    <>
      <div className="h-44" aria-hidden>
        <ResponsiveContainer width="100%" height="100%">
          <AreaChart data={shown} accessibilityLayer={false} margin={{ top: 8, right: 8, bottom: 0, left: -20 }}>
            {grid}
            <XAxis
              {...axis}
              dataKey="at"
              type="number"
              scale="time"
              domain={["dataMin", "dataMax"]}
              ticks={hours}
              tickFormatter={clock}
              interval="equidistantPreserveStart"
            />
            <YAxis {...axis} domain={[0, most]} ticks={[...new Set([0, Math.round(most / 2), most])]} />
            <Tooltip {...tooltip} cursor={{ stroke: "var(--border)" }} labelFormatter={(at) => clock(Number(at))} />
            <ReferenceLine y={seats} stroke="var(--series-2)" strokeDasharray="4 4" />
            <Area
              type="stepAfter"
              dataKey="seats"
              name="Seats taken"
              stroke="var(--series-1)"
              fill="var(--series-1)"
              fillOpacity={0.25}
              isAnimationActive={false}
            />
          </AreaChart>
        </ResponsiveContainer>
      </div>
      <ol className="sr-only">
        {steps.map((step) => (
          <li key={step.at}>
            From {clock(step.at)}: {step.seats} seats taken
          </li>
        ))}
      </ol>
    </>
  );
}
