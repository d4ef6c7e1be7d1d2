import { Bar, BarChart, Tooltip, XAxis, YAxis } from "recharts";

import { decimalsOf, formatMoney } from "@/domain/money";
import { useSession } from "@/session/session";
import { Plot, axis, grid, tooltip } from "@/ui/plot";

// Half of a label of the value axis is above the plot.
const margin = { top: 8, right: 8, bottom: 0, left: 0 };

// Moves the first and the last label into the plot.
const ticks = { minTickGap: 24, interval: "preserveStartEnd" } as const;

export type PlotRow = { label: string; netMinor: number; orders: number };

/** The net sales and the number of orders over time. */
export function SalesPlots({ rows, currency }: { rows: PlotRow[]; currency: string }) {
  const { locale } = useSession();
  const money = (minor: unknown) => formatMoney(Number(minor), currency, locale);
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  const unit = 10 ** decimalsOf(currency);
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Plot title={`Net sales, ${currency}`}>
        <BarChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} {...ticks} />
          <YAxis {...axis} width="auto" tickFormatter={(minor: number) => short.format(minor / unit)} />
          <Tooltip {...tooltip} formatter={money} />
          <Bar
            dataKey="netMinor"
            name="Net sales"
            fill="var(--series-1)"
            isAnimationActive={false}
            radius={[2, 2, 0, 0]}
          />
        </BarChart>
      </Plot>
      <Plot title="Orders">
        <BarChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} {...ticks} />
          <YAxis {...axis} width="auto" allowDecimals={false} />
          <Tooltip {...tooltip} />
          <Bar dataKey="orders" name="Orders" fill="var(--series-4)" isAnimationActive={false} radius={[2, 2, 0, 0]} />
        </BarChart>
      </Plot>
    </div>
  );
}
