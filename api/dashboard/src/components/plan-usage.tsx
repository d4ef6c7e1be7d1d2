import type { components } from "@comanda/client";

import { planName } from "@/domain/plans";
import { useAccount } from "@/session/account";
import { Countdown } from "@/ui/duration";
import { Time } from "@/ui/format";
import { Card } from "@/ui/page";
import { Stat, Stats } from "@/ui/stat";

/** Returns a function that formats numbers for the view's locale. */
export function useNumbers() {
  const { locale } = useAccount();
  const format = new Intl.NumberFormat(locale);
  return (value: number) => format.format(value);
}

/** The deliveries of a website in the current hour, relative to its plan. */
export function PlanUsage({
  usage: { plan, limit, taken, replaysTaken, windowEnd, queued, lastScheduledFor },
}: {
  usage: components["schemas"]["PlanUsage"];
}) {
  const number = useNumbers();
  return (
    <Card title={`Current usage (${planName(plan)})`}>
      <div className="grid gap-4">
        {limit === null ? (
          <p className="text-sm text-muted-foreground">This plan has no limit. Every delivery starts immediately.</p>
        ) : (
          <>
            <Meter label="Deliveries this hour" value={taken} max={limit} />
            <Meter
              label="Replays this hour (at most half of the limit)"
              value={replaysTaken}
              max={Math.floor(limit / 2)}
            />
            <p className="text-sm text-muted-foreground">
              {taken < limit
                ? `${number(limit - taken)} more can start this hour. `
                : "This hour's limit is reached. Further deliveries start in the next hour. "}
              The next hour starts <Countdown to={windowEnd} />, at <Time at={windowEnd} />.
            </p>
          </>
        )}
        <Stats label="Queue">
          <Stat label="Queued deliveries">{number(queued)}</Stat>
          <Stat label="Last start" hint={lastScheduledFor && <Countdown to={lastScheduledFor} />}>
            <span className="text-base">
              {lastScheduledFor ? (
                <Time at={lastScheduledFor} />
              ) : (
                <span className="font-normal">{queued > 0 ? "this hour" : "none queued"}</span>
              )}
            </span>
          </Stat>
        </Stats>
      </div>
    </Card>
  );
}

/** A bar that shows usage relative to a limit. */
function Meter({ label, value, max }: { label: string; value: number; max: number }) {
  const number = useNumbers();
  const part = max > 0 ? Math.min(1, value / max) : 1;
  const text = `${number(value)} of ${number(max)}`;
  return (
    <div className="grid gap-1.5">
      <p className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span>{label}</span>
        <span className="tabular-nums">{text}</span>
      </p>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={Math.min(value, max)}
        aria-valuetext={text}
        className="h-2 overflow-hidden rounded-full bg-muted"
      >
        <div
          className={part >= 1 ? "h-full bg-danger" : part >= 0.8 ? "h-full bg-warning" : "h-full bg-success"}
          style={{ width: `${part * 100}%` }}
        />
      </div>
    </div>
  );
}
