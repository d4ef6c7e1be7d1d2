import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { useSeen } from "@/ui/seen";

/** The deliveries of the last 24 hours by hour. It loads its data when it becomes visible. */
export function Sparkline({ id }: { id: string }) {
  const [ref, seen] = useSeen<HTMLSpanElement>();
  const stats = useQuery({ ...queries.webhooks.stats(id, "24h"), enabled: seen });
  const buckets = stats.data?.buckets ?? [];
  const highest = Math.max(1, ...buckets.map((bucket) => bucket.delivered + bucket.failed));
  const { delivered, failed } = stats.data?.totals ?? { delivered: 0, failed: 0 };
  const text = stats.data
    ? `${delivered.toLocaleString()} delivered, ${failed.toLocaleString()} failed`
    : stats.error
      ? "unavailable"
      : "…";
  return (
    <span ref={ref} className="grid gap-0.5">
      <svg
        viewBox={`0 0 ${Math.max(1, buckets.length) * 5} 24`}
        className="h-6 w-32"
        preserveAspectRatio="none"
        aria-hidden
      >
        <line x1="0" x2="100%" y1="23.5" y2="23.5" stroke="var(--border)" />
        {buckets.map((bucket, place) => {
          const good = (bucket.delivered / highest) * 22;
          const bad = (bucket.failed / highest) * 22;
          return (
            <g key={bucket.start}>
              <rect x={place * 5} y={23 - good} width="4" height={good} fill="var(--series-1)" />
              <rect x={place * 5} y={23 - good - bad} width="4" height={bad} fill="var(--series-2)" />
            </g>
          );
        })}
      </svg>
      <span className="text-xs whitespace-nowrap text-muted-foreground">{text}</span>
    </span>
  );
}
