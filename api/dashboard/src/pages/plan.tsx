import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Time } from "@/ui/format";
import { Badge, Card, Failure, Loading, PageHeader, Table } from "@/ui/page";
import { Stat, Stats } from "@/ui/stat";
import { useToast } from "@/ui/toast";

type Usage = components["schemas"]["PlanUsage"];
type Plan = Usage["plan"];

/** What the plans let start in an hour, each better than the one before; null is without a limit. */
const plans: Record<Plan, { name: string; limit: number | null }> = {
  STARTER: { name: "Starter", limit: 500 },
  GROW: { name: "Grow", limit: 2_000 },
  PROFESSIONAL: { name: "Professional", limit: 10_000 },
  ENTERPRISE: { name: "Enterprise", limit: null },
};

const order = Object.keys(plans) as Plan[];

export function PlanPage() {
  const { locale } = useSession();
  const usage = useQuery({ queryKey: ["billing"], queryFn: () => data(api.GET("/billing")), refetchInterval: 5_000 });
  const [chosen, setChosen] = useState<Plan | null>(null);
  const number = new Intl.NumberFormat(locale);
  const allowed = (limit: number | null) => (limit === null ? "Unlimited" : number.format(limit));
  return (
    <>
      <PageHeader title="Plan" about="How many webhook deliveries may start in an hour, for all stores of this website together. What exceeds it waits for its turn; nothing is dropped." />
      <Failure error={usage.error} retry={() => void usage.refetch()} className="mb-4" />
      {usage.isPending && <Loading />}
      {usage.data && (
        <div className="grid gap-5">
          <Used usage={usage.data} />
          <Table label="Plans">
            <thead>
              <tr>
                <th scope="col">Plan</th>
                <th scope="col" className="text-right">
                  Deliveries an hour
                </th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {order.map((plan) => (
                <tr key={plan}>
                  <th scope="row" className="border-t text-sm! text-foreground!">
                    {plans[plan].name}
                  </th>
                  <td className="text-right tabular-nums">{allowed(plans[plan].limit)}</td>
                  <td className="h-13 text-right">
                    {plan === usage.data.plan ? (
                      <Badge tone="good">your plan</Badge>
                    ) : (
                      <Button variant="outline" size="small" onClick={() => setChosen(plan)}>
                        Choose<span className="sr-only"> {plans[plan].name}</span>
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
      {chosen && usage.data && <ChangeDialog from={usage.data} to={chosen} allowed={allowed} onClose={() => setChosen(null)} />}
    </>
  );
}

function Used({ usage }: { usage: Usage }) {
  const { locale } = useSession();
  const number = new Intl.NumberFormat(locale);
  return (
    <Card title={`Now, on ${plans[usage.plan].name}`}>
      <div className="grid gap-4">
        {usage.limit === null ? (
          <p className="text-sm text-muted-foreground">This plan has no limit: every delivery starts at once.</p>
        ) : (
          <>
            <Meter label="Deliveries of this hour" value={usage.taken} max={usage.limit} locale={locale} />
            <Meter label="of these, replays (at most half)" value={usage.replaysTaken} max={Math.floor(usage.limit / 2)} locale={locale} />
            <p className="text-sm text-muted-foreground">
              The next hour of the plan begins at <Time at={usage.windowEnd} />.
            </p>
          </>
        )}
        <Stats label="What waits">
          <Stat label="Waiting deliveries">{number.format(usage.queued)}</Stat>
          <Stat label="The last of them starts">
            {usage.lastScheduledFor ? (
              <span className="text-base">
                <Time at={usage.lastScheduledFor} />
              </span>
            ) : (
              <span className="text-base font-normal">none waits</span>
            )}
          </Stat>
        </Stats>
      </div>
    </Card>
  );
}

/** How much of something is used up. */
function Meter({ label, value, max, locale }: { label: string; value: number; max: number; locale: string }) {
  const number = new Intl.NumberFormat(locale);
  const part = max > 0 ? Math.min(1, value / max) : 1;
  const text = `${number.format(value)} of ${number.format(max)}`;
  return (
    <div className="grid gap-1.5">
      <p className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span>{label}</span>
        <span className="tabular-nums">{text}</span>
      </p>
      <div role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(value, max)} aria-valuetext={text} className="h-2 overflow-hidden rounded-full bg-muted">
        <div className={part >= 1 ? "h-full bg-danger" : part >= 0.8 ? "h-full bg-warning" : "h-full bg-success"} style={{ width: `${part * 100}%` }} />
      </div>
    </div>
  );
}

function ChangeDialog({ from, to, allowed, onClose }: { from: Usage; to: Plan; allowed: (limit: number | null) => string; onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const better = order.indexOf(to) > order.indexOf(from.plan);
  const change = useMutation({
    mutationFn: () => data(api.PATCH("/billing", { body: { plan: to } })),
    onSuccess: (usage) => {
      queries.setQueryData(["billing"], usage);
      toast(`The plan is ${plans[to].name} now`);
      onClose();
    },
  });
  const limit = plans[to].limit === null ? "without a limit" : `up to ${allowed(plans[to].limit)} an hour`;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Change from ${plans[from.plan].name} to ${plans[to].name}?`}
      description={`It holds at once, for every store of this website: deliveries start ${limit}.`}
    >
      <ul className="grid list-inside list-disc gap-1 text-sm">
        {better ? (
          <li>{from.queued > 0 ? `The ${from.queued} deliveries that wait move forward into the room that there is now.` : "Nothing waits now, and less will in busy hours."}</li>
        ) : (
          <>
            <li>Deliveries that already have their time keep it.</li>
            <li>In busy hours more of them wait, and for longer. None is dropped.</li>
          </>
        )}
        <li>The change is noted in the audit trail.</li>
      </ul>
      <Failure error={change.error} />
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Keep {plans[from.plan].name}
        </Button>
        <Button busy={change.isPending} onClick={() => change.mutate()}>
          Change to {plans[to].name}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
