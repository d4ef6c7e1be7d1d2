import type { components } from "@comanda/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { PlanUsage, useNumbers } from "@/components/plan-usage";
import { type Plan, planName } from "@/domain/plans";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Badge, Columns, PageHeader, QueryState, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

type Billing = components["schemas"]["Billing"];

export function PlanPage() {
  const billing = useQuery(queries.billing);
  const [chosen, setChosen] = useState<Plan | null>(null);
  const number = useNumbers();
  const now = billing.data;
  return (
    <>
      <PageHeader
        title="Plan"
        about={
          <>
            The plan limits the webhook deliveries per hour, for all stores of this website together. Deliveries above
            the limit are queued, not dropped.
          </>
        }
      />
      <QueryState query={billing} className="mb-4" />
      {now && (
        <div className="grid gap-5 [&>*]:min-w-0">
          <PlanUsage usage={now} />
          <Table label="Plans" className="max-sm:[&_td]:px-2 max-sm:[&_th]:px-2 max-sm:[&_th]:whitespace-normal">
            <Columns names={["Plan", { right: "Deliveries per hour" }, { hidden: "Actions" }]} />
            <tbody>
              {now.plans.map(({ plan, limit }) => (
                <tr key={plan}>
                  <th scope="row" className="border-t text-sm! text-foreground!">
                    {planName(plan)}
                  </th>
                  <td className="text-right tabular-nums">{limit === null ? "Unlimited" : number(limit)}</td>
                  <td className="h-13 text-right">
                    {plan === now.plan ? (
                      <Badge tone="good">Current plan</Badge>
                    ) : (
                      <Button variant="outline" size="small" onClick={() => setChosen(plan)}>
                        Choose<span className="sr-only"> {planName(plan)}</span>
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

function ChangeDialog({ from, to, onClose }: { from: Billing; to: Plan; onClose: () => void }) {
  const number = useNumbers();
  const client = useQueryClient();
  const toast = useToast();
  const order = from.plans.map(({ plan }) => plan);
  const upgrade = order.indexOf(to) > order.indexOf(from.plan);
  const limit = from.plans.find(({ plan }) => plan === to)?.limit ?? null;
  const change = useMutation({
    mutationFn: () => data(api.PATCH("/billing", { body: { plan: to } })),
    onSuccess: (changed) => {
      client.setQueryData(queries.billing.queryKey, changed);
      toast(`Plan changed to ${planName(to)}`);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Change from ${planName(from.plan)} to ${planName(to)}?`}
      description={
        "The change takes effect immediately for every store of this website. " +
        (limit === null ? "There is no limit." : `The new limit is ${number(limit)} deliveries per hour.`)
      }
      mutation={change}
      onSubmit={() => change.mutate()}
      submitLabel={`Change to ${planName(to)}`}
      cancelLabel={`Keep ${planName(from.plan)}`}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {upgrade ? (
          <li>
            {from.queued > 0
              ? `The ${number(from.queued)} queued deliveries start as soon as the new limit allows.`
              : "Fewer deliveries are queued in busy hours."}
          </li>
        ) : (
          <>
            {from.queued > 0 && (
              <li>{`The new limit also applies to the ${number(from.queued)} queued deliveries.`}</li>
            )}
            {limit !== null && from.taken >= limit && (
              <li>
                {number(from.taken)} deliveries have already started this hour. Further deliveries start in the next
                hour.
              </li>
            )}
            <li>In busy hours, more deliveries are queued, and for longer. None are dropped.</li>
          </>
        )}
        <li>The change is recorded in the audit trail.</li>
      </ul>
    </FormDialog>
  );
}
