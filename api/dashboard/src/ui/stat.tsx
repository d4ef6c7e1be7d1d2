import type { ReactNode } from "react";

/** A group of figures. */
export const Stats = ({ label, children }: { label: string; children: ReactNode }) => (
  <dl aria-label={label} className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-4">
    {children}
  </dl>
);

/** A figure with its label. */
export const Stat = ({ label, hint, children }: { label: string; hint?: ReactNode; children: ReactNode }) => (
  <div className="flex flex-col gap-0.5 rounded-lg border bg-surface p-3">
    <dt className="text-xs text-muted-foreground">{label}</dt>
    <dd className="text-xl font-semibold tabular-nums">{children}</dd>
    {hint && <dd className="text-xs text-muted-foreground">{hint}</dd>}
  </div>
);
