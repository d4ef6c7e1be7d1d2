import { Area, AreaChart, CartesianGrid, ReferenceLine, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";

import { useSession } from "@/session/session";

import { type Step, peakOf } from "./day";

/** The seats that are taken over the day, and how many there are. */
export function Seats({ steps, seats }: { steps: Step[]; seats: number | undefined }) {
  const { locale, timezone } = useSession();
  if (steps.length === 0) return <p className="text-sm text-muted-foreground">No seats are held.</p>;
  const clock = (at: number) => new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: timezone }).format(at);
  const most = Math.max(peakOf(steps), seats ?? 0);
  const quarter = 15 * 60_000;
  const shown = [{ at: steps[0]!.at - quarter, guests: 0 }, ...steps, { at: steps.at(-1)!.at + quarter, guests: 0 }];
  return (
    <>
      <div className="h-44" aria-hidden>
        <ResponsiveContainer width="100%" height="100%">
          <AreaChart data={shown} margin={{ top: 8, right: 8, bottom: 0, left: -20 }}>
            <CartesianGrid vertical={false} stroke="var(--border)" />
            <XAxis
              dataKey="at"
              type="number"
              scale="time"
              domain={["dataMin", "dataMax"]}
              tickFormatter={clock}
              tick={{ fill: "var(--muted-foreground)", fontSize: 11 }}
              stroke="var(--border)"
              minTickGap={32}
            />
            <YAxis domain={[0, most]} ticks={[...new Set([0, Math.round(most / 2), most])]} tick={{ fill: "var(--muted-foreground)", fontSize: 11 }} stroke="var(--border)" />
            <Tooltip
              labelFormatter={(at) => clock(Number(at))}
              contentStyle={{ background: "var(--surface)", border: "1px solid var(--border)", borderRadius: 6, fontSize: 12 }}
            />
            {seats !== undefined && <ReferenceLine y={seats} stroke="var(--series-2)" strokeDasharray="4 4" />}
            <Area type="stepAfter" dataKey="guests" name="Seats taken" stroke="var(--series-1)" fill="var(--series-1)" fillOpacity={0.25} isAnimationActive={false} />
          </AreaChart>
        </ResponsiveContainer>
      </div>
      <ol className="sr-only">
        {steps.map((step) => (
          <li key={step.at}>
            From {clock(step.at)}: {step.guests} seats taken
          </li>
        ))}
      </ol>
    </>
  );
}
