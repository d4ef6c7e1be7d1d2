import type { ReactNode } from "react";
import { CartesianGrid, ResponsiveContainer } from "recharts";

// The shared style of all plots.
export const margin = { top: 4, right: 4, bottom: 0, left: 0 };
export const axis = {
  stroke: "var(--muted-foreground)",
  fontSize: 11,
  tickLine: false,
  axisLine: { stroke: "var(--border)" },
} as const;
export const grid = <CartesianGrid stroke="var(--border)" strokeDasharray="3 3" vertical={false} />;
export const tooltip = {
  isAnimationActive: false,
  cursor: { fill: "var(--muted)" },
  contentStyle: { background: "var(--surface)", border: "1px solid var(--border)", borderRadius: 6, fontSize: 12 },
  labelStyle: { color: "var(--muted-foreground)" },
  itemStyle: { color: "var(--foreground)" },
};

export const Plot = ({ title, children }: { title: string; children: ReactNode }) => (
  <figure className="grid min-w-0 gap-2">
    <figcaption className="text-xs font-medium text-muted-foreground">{title}</figcaption>
    <ResponsiveContainer width="100%" height={200}>
      {children}
    </ResponsiveContainer>
  </figure>
);
