import { useMemo } from "react";
import { Bar, BarChart, Legend, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";

import type { DeliveryStats } from "@/domain/webhooks";
import { useSession } from "@/session/session";
import { formatMs } from "@/ui/duration";
import { Plot, axis, grid, margin, tooltip } from "@/ui/plot";

type Row = {
  start: string;
  label: string;
  delivered: number;
  failed: number;
  deadLetter: number;
  p50: number | null;
  p99: number | null;
};

/** The plots of a webhook's attempts. A click on a bar calls onChoose with the bounds of its bucket. */
export function Plots({ stats, onChoose }: { stats: DeliveryStats; onChoose: (from: string, to: string) => void }) {
  const { locale, timezone } = useSession();
  const hours = stats.granularity === "hour";
  const rows = useMemo<Row[]>(() => {
    const format = new Intl.DateTimeFormat(
      locale,
      hours
        ? { hour: "2-digit", minute: "2-digit", timeZone: timezone }
        : { day: "numeric", month: "short", timeZone: "UTC" },
    );
    return stats.buckets.map((bucket) => ({
      start: bucket.start,
      label: format.format(new Date(bucket.start)),
      delivered: bucket.delivered,
      failed: bucket.failed - bucket.deadLetter,
      deadLetter: bucket.deadLetter,
      p50: bucket.p50Ms,
      p99: bucket.p99Ms,
    }));
  }, [stats, locale, timezone, hours]);
  const choose = (row: Row) =>
    onChoose(row.start, new Date(Date.parse(row.start) + (hours ? 1 : 24) * 3_600_000).toISOString());
  const bar = {
    stackId: "attempts",
    isAnimationActive: false,
    cursor: "pointer",
    onClick: (item: { payload?: Row }) => item.payload && choose(item.payload),
  };
  const line = { isAnimationActive: false, dot: { r: 2 }, strokeWidth: 2, connectNulls: true } as const;
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Plot title={`Attempts by ${hours ? "hour" : "day (UTC)"}`}>
        <BarChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} minTickGap={24} />
          <YAxis {...axis} allowDecimals={false} width={36} />
          <Tooltip {...tooltip} />
          <Legend {...legend} />
          <Bar {...bar} dataKey="delivered" name="Delivered" fill="var(--series-1)" />
          <Bar {...bar} dataKey="failed" name="Failed" fill="var(--series-3)" />
          <Bar {...bar} dataKey="deadLetter" name="Dead letter" fill="var(--series-2)" />
        </BarChart>
      </Plot>
      <Plot title="Response times">
        <LineChart data={rows} margin={margin} accessibilityLayer>
          {grid}
          <XAxis dataKey="label" {...axis} minTickGap={24} />
          <YAxis {...axis} width={52} tickFormatter={(ms: number) => formatMs(ms)} />
          <Tooltip {...tooltip} cursor={{ stroke: "var(--border)" }} formatter={(ms) => formatMs(Number(ms))} />
          <Legend {...legend} />
          <Line {...line} dataKey="p50" name="p50" stroke="var(--series-1)" />
          <Line {...line} dataKey="p99" name="p99" stroke="var(--series-4)" />
        </LineChart>
      </Plot>
    </div>
  );
}

const legend = {
  itemSorter: null,
  iconType: "circle",
  iconSize: 8,
  wrapperStyle: { fontSize: 12, paddingTop: 4 },
} as const;
