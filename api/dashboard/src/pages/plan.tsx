import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Countdown } from "@/ui/duration";
import { Time } from "@/ui/format";
import { Badge, Card, Columns, PageHeader, QueryState, Table } from "@/ui/page";
import { Stat, Stats } from "@/ui/stat";
import { useToast } from "@/ui/toast";

type Billing = components["schemas"]["Billing"];
type Plan = Billing["plan"];

/** A plan's name as people write it. */
const nameOf = (plan: Plan) => plan.charAt(0) + plan.slice(1).toLowerCase();

/** Numbers as people of the view's locale write them. */
function useNumbers() {
  const { locale } = useSession();
  const format = new Intl.NumberFormat(locale);
  return (value: number) => format.format(value);
}

export function PlanPage() {
  const billing = useQuery({ queryKey: ["billing"], queryFn: () => data(api.GET("/billing")), refetchInterval: 5_000 });
  const [chosen, setChosen] = useState<Plan | null>(null);
  const number = useNumbers();
  const now = billing.data;
  return (
    <>
      <PageHeader
        title="Plan"
        about="How many webhook deliveries may start in an hour, for all stores of this website together. What exceeds it waits for its turn; nothing is dropped."
      />
      <QueryState of={billing} className="mb-4" />
      {now && (
        <div className="grid gap-5 [&>*]:min-w-0">
          <Used billing={now} />
          <Table label="Plans" className="max-sm:[&_td]:px-2 max-sm:[&_th]:px-2 max-sm:[&_th]:whitespace-normal">
            <Columns names={["Plan", { right: "Deliveries an hour" }, { hidden: "Actions" }]} />
            <tbody>
              {now.plans.map(({ plan, limit }) => (
                <tr key={plan}>
                  <th scope="row" className="border-t text-sm! text-foreground!">
                    {nameOf(plan)}
                  </th>
                  <td className="text-right tabular-nums">{limit === null ? "Unlimited" : number(limit)}</td>
                  <td className="h-13 text-right">
                    {plan === now.plan ? (
                      <Badge tone="good">your plan</Badge>
                    ) : (
                      <Button variant="outline" size="small" onClick={() => setChosen(plan)}>
                        Choose<span className="sr-only"> {nameOf(plan)}</span>
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
      {chosen && now && <ChangeDialog from={now} to={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function Used({ billing: { plan, limit, taken, replaysTaken, windowEnd, queued, lastScheduledFor } }: { billing: Billing }) {
  const number = useNumbers();
  return (
    <Card title={`Now, on ${nameOf(plan)}`}>
      <div className="grid gap-4">
        {limit === null ? (
          <p className="text-sm text-muted-foreground">This plan has no limit: every delivery starts at once.</p>
        ) : (
          <>
            <Meter label="Deliveries of this hour" value={taken} max={limit} />
            <Meter label="of these, replays (at most half)" value={replaysTaken} max={Math.floor(limit / 2)} />
            <p className="text-sm text-muted-foreground">
              {taken < limit ? `${number(limit - taken)} more may start in this hour. ` : "This hour is full: what comes now waits for a later one. "}
              The next begins <Countdown to={windowEnd} />, at <Time at={windowEnd} />.
            </p>
          </>
        )}
        <Stats label="What waits">
          <Stat label="Deliveries that wait for a later hour">{number(queued)}</Stat>
          <Stat label="The last of them starts" hint={lastScheduledFor && <Countdown to={lastScheduledFor} />}>
            <span className="text-base">{lastScheduledFor ? <Time at={lastScheduledFor} /> : <span className="font-normal">none waits</span>}</span>
          </Stat>
        </Stats>
      </div>
    </Card>
  );
}

/** How much of something is used up. */
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
        <div className={part >= 1 ? "h-full bg-danger" : part >= 0.8 ? "h-full bg-warning" : "h-full bg-success"} style={{ width: `${part * 100}%` }} />
      </div>
    </div>
  );
}

function ChangeDialog({ from, to, onClose }: { from: Billing; to: Plan; onClose: () => void }) {
  const number = useNumbers();
  const queries = useQueryClient();
  const toast = useToast();
  const order = from.plans.map(({ plan }) => plan);
  const better = order.indexOf(to) > order.indexOf(from.plan);
  const limit = from.plans.find(({ plan }) => plan === to)?.limit ?? null;
  const change = useMutation({
    mutationFn: () => data(api.PATCH("/billing", { body: { plan: to } })),
    onSuccess: (changed) => {
      queries.setQueryData(["billing"], changed);
      toast(`The plan is ${nameOf(to)} now`);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Change from ${nameOf(from.plan)} to ${nameOf(to)}?`}
      description={`It holds at once, for every store of this website: deliveries start ${limit === null ? "without a limit" : `up to ${number(limit)} an hour`}.`}
      doing={change}
      onSubmit={() => change.mutate()}
      deed={`Change to ${nameOf(to)}`}
      keep={`Keep ${nameOf(from.plan)}`}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {better ? (
          <li>
            {from.queued > 0 ? `The ${number(from.queued)} deliveries that wait move forward into the room that there is now.` : "Nothing waits now, and less will in busy hours."}
          </li>
        ) : (
          <>
            <li>Deliveries that already have their time keep it.</li>
            {limit !== null && from.taken >= limit && <li>{`This hour ${number(from.taken)} have been given their time already: what comes next waits for a later hour.`}</li>}
            <li>In busy hours more of them wait, and for longer. None is dropped.</li>
          </>
        )}
        <li>The change is noted in the audit trail.</li>
      </ul>
    </FormDialog>
  );
}
