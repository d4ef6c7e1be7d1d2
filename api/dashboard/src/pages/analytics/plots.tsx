import { Bar, BarChart, Tooltip, XAxis, YAxis } from "recharts";

import { useSession } from "@/session/session";
import { formatMoney } from "@/ui/format";
import { Plot, axis, grid, margin, tooltip } from "@/ui/plot";

export type PlotRow = { label: string; netMinor: number; orders: number };

/** What was sold, and how often somebody ordered, over time. */
export function SalesPlots({ rows, currency }: { rows: PlotRow[]; currency: string }) {
  const { locale } = useSession();
  const money = (minor: unknown) => formatMoney(Number(minor), currency, locale);
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  const unit = 10 ** (new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2);
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Plot title={`Net sales, ${currency}`}>
        <BarChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} minTickGap={24} />
          <YAxis {...axis} width={44} tickFormatter={(minor: number) => short.format(minor / unit)} />
          <Tooltip {...tooltip} formatter={money} />
          <Bar dataKey="netMinor" name="Net sales" fill="var(--series-1)" isAnimationActive={false} radius={[2, 2, 0, 0]} />
        </BarChart>
      </Plot>
      <Plot title="Orders">
        <BarChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} minTickGap={24} />
          <YAxis {...axis} width={36} allowDecimals={false} />
          <Tooltip {...tooltip} />
          <Bar dataKey="orders" name="Orders" fill="var(--series-4)" isAnimationActive={false} radius={[2, 2, 0, 0]} />
        </BarChart>
      </Plot>
    </div>
  );
}
