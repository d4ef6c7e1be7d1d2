import type { ReactNode } from "react";

import { cn } from "@/ui/cn";

/** A list of names and values. */
export const Details = ({ children }: { children: ReactNode }) => (
  <dl
    className={cn(
      "grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[auto_1fr]",
      "[&_dd]:min-w-0 [&_dd]:break-words [&_dt]:text-muted-foreground",
    )}
  >
    {children}
  </dl>
);
