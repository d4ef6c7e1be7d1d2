import type { ReactNode } from "react";
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";

import { useSession } from "@/session/session";
import { formatMoney } from "@/ui/format";

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

const margin = { top: 4, right: 4, bottom: 0, left: 0 };
const axis = { stroke: "var(--muted-foreground)", fontSize: 11, tickLine: false, axisLine: { stroke: "var(--border)" } } as const;
const grid = <CartesianGrid stroke="var(--border)" strokeDasharray="3 3" vertical={false} />;
const tooltip = {
  isAnimationActive: false,
  cursor: { fill: "var(--muted)" },
  contentStyle: { background: "var(--surface)", border: "1px solid var(--border)", borderRadius: 6, fontSize: 12 },
  labelStyle: { color: "var(--muted-foreground)" },
  itemStyle: { color: "var(--foreground)" },
};

const Plot = ({ title, children }: { title: string; children: ReactNode }) => (
  <figure className="grid min-w-0 gap-2">
    <figcaption className="text-xs font-medium text-muted-foreground">{title}</figcaption>
    <ResponsiveContainer width="100%" height={220}>
      {children}
    </ResponsiveContainer>
  </figure>
);
