import { type RefObject } from "react";

import { formatMoney } from "@/domain/money";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";

import type { Line } from "./draft";

type Props = {
  lines: Line[];
  currency: string;
  /** Undefined until the service has calculated it. */
  totalMinor: number | undefined;
  order: RefObject<HTMLElement | null>;
};

/** A bar with the total, for narrow screens, where the order is below the menu. */
export function ReviewBar({ lines, currency, totalMinor, order }: Props) {
  const { locale } = useSession();
  if (lines.length === 0) return null;
  const items = lines.reduce((sum, line) => sum + line.quantity, 0);
  return (
    <div className="sticky bottom-0 z-10 flex items-center justify-between gap-3 border-t bg-background py-3 lg:hidden">
      <span className="font-semibold">
        {items} {items === 1 ? "item" : "items"}
        {totalMinor !== undefined && `, ${formatMoney(totalMinor, currency, locale)}`}
      </span>
      <Button
        type="button"
        variant="outline"
        onClick={() => {
          order.current?.scrollIntoView();
          order.current?.focus({ preventScroll: true });
        }}
      >
        Review order
      </Button>
    </div>
  );
}
