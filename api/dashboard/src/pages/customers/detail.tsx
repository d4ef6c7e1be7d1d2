import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";

import { ApiError, api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { Money, Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Card, Failure, Loading, PageHeader, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type Order, statusTone, statuses } from "../orders/status";
import { type Customer, nameOf } from "./name";
import { kinds } from "./search";

const route = getRouteApi("/inside/customers/$id");

export function CustomerPage() {
  const { id } = route.useParams();
  const customer = useQuery({ queryKey: ["customers", "one", id], queryFn: () => data(api.GET("/customers/{id}", { params: { path: { id } } })) });
  const [editing, setEditing] = useState(false);
  return (
    <>
      <Link to="/customers" className="mb-2 inline-block text-sm text-primary underline-offset-4 hover:underline">
        Customers
      </Link>
      <Failure error={customer.error} retry={() => void customer.refetch()} />
      {customer.isPending && <Loading />}
      {customer.data && (
        <>
          <PageHeader
            title={
              <span className="flex flex-wrap items-center gap-2 break-words">
                {nameOf(customer.data)} <Badge tone={customer.data.kind === "registered" ? "accent" : "neutral"}>{kinds[customer.data.kind]}</Badge>
              </span>
            }
            about={
              <>
                {[customer.data.phone, customer.data.email].filter(Boolean).join(" · ")}
                <span className="block">
                  {customer.data.totalOrders === 1 ? "1 order" : `${customer.data.totalOrders} orders`} ·{" "}
                  {customer.data.loyaltyPoints === 1 ? "1 point" : `${customer.data.loyaltyPoints} points`} · since <Time at={customer.data.createdAt} />
                </span>
              </>
            }
            actions={
              <Button variant="outline" onClick={() => setEditing(true)}>
                Edit
              </Button>
            }
          />
          <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
            <Orders customer={id} />
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              <Addresses customer={id} />
              <Points customer={customer.data} />
            </div>
          </div>
          {editing && <EditDialog customer={customer.data} onClose={() => setEditing(false)} />}
        </>
      )}
    </>
  );
}

function Orders({ customer }: { customer: string }) {
  const orders = useList<Order>(["orders", "of", customer], (cursor) => api.GET("/orders", { params: { query: { customerId: customer, cursor } } }));
  return (
    <Card title="Orders" className="min-w-0">
      <Failure error={orders.error} retry={() => void orders.refetch()} />
      {orders.isPending && <Loading />}
      {orders.data && orders.rows.length === 0 && <p className="text-sm text-muted-foreground">No orders yet.</p>}
      {orders.rows.length > 0 && (
        <Table label="Orders of this customer">
          <thead>
            <tr>
              <th>Order</th>
              <th>Status</th>
              <th>Placed</th>
              <th className="text-right!">Total</th>
            </tr>
          </thead>
          <tbody>
            {orders.rows.map((order) => (
              <tr key={order.id}>
                <td>
                  <Link to="/orders/$id" params={{ id: order.id }} className="font-medium text-primary underline-offset-4 hover:underline">
                    #{order.orderId}
                  </Link>
                </td>
                <td>
                  <Badge tone={statusTone(order.status)}>{statuses[order.status]}</Badge>
                </td>
                <td>
                  <Time at={order.createdAt} />
                </td>
                <td className="text-right">
                  <Money minor={order.totalMinor} currency={order.currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <More list={orders} />
    </Card>
  );
}

function Addresses({ customer }: { customer: string }) {
  const addresses = useQuery({
    queryKey: ["customers", "addresses", customer],
    queryFn: () => data(api.GET("/customers/{id}/addresses", { params: { path: { id: customer } } })),
  });
  return (
    <Card title="Addresses">
      <Failure error={addresses.error} retry={() => void addresses.refetch()} />
      {addresses.isPending && <Loading />}
      {addresses.data?.length === 0 && <p className="text-sm text-muted-foreground">None. Customers keep them in the shop.</p>}
      <div className="grid gap-3">
        {addresses.data?.map((one) => (
          <address key={one.id} className="text-sm break-words not-italic">
            <span className="flex items-center gap-2 font-medium">
              {one.label} {one.isDefault && <Badge tone="accent">default</Badge>}
            </span>
            {[one.line1, one.line2, `${one.postalCode ?? ""} ${one.city}`.trim(), one.region, one.country].filter(Boolean).join(", ")}
            {one.notes && <span className="block text-xs text-muted-foreground">{one.notes}</span>}
          </address>
        ))}
      </div>
    </Card>
  );
}

const reasons: Record<components["schemas"]["LoyaltyEntry"]["kind"], string> = { EARNED: "earned with", REVERSED: "taken back with a refund of", RESTORED: "given again for" };

function Points({ customer }: { customer: Customer }) {
  const entries = useList<components["schemas"]["LoyaltyEntry"]>(["customers", "points", customer.id], (cursor) =>
    api.GET("/customers/{id}/loyalty", { params: { path: { id: customer.id }, query: { cursor } } }),
  );
  return (
    <Card title="Points" actions={<span className="text-lg font-semibold tabular-nums">{customer.loyaltyPoints}</span>}>
      <Failure error={entries.error} retry={() => void entries.refetch()} />
      {entries.data && entries.rows.length === 0 && <p className="text-sm text-muted-foreground">Completed orders earn them.</p>}
      <ul className="grid gap-2">
        {entries.rows.map((entry) => (
          <li key={entry.id} className="flex items-baseline gap-2 text-sm">
            <span className={entry.points < 0 ? "font-medium text-danger tabular-nums" : "font-medium text-success tabular-nums"}>
              {entry.points > 0 && "+"}
              {entry.points}
            </span>
            <span className="min-w-0 flex-1">
              {reasons[entry.kind]} order {entry.orderId}
            </span>
            <span className="text-xs text-muted-foreground">
              <Time at={entry.createdAt} />
            </span>
          </li>
        ))}
      </ul>
      <More list={entries} />
    </Card>
  );
}

function EditDialog({ customer, onClose }: { customer: Customer; onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const save = useMutation({
    mutationFn: (body: components["schemas"]["ChangeCustomerRequest"]) =>
      data(api.PATCH("/customers/{id}", { params: { path: { id: customer.id }, header: { "If-Match": `"${customer.version}"` } }, body })),
    onSuccess: () => {
      toast("The customer is saved");
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["customers"] }),
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    save.mutate({ firstName: text("firstName"), lastName: text("lastName") || null, phone: text("phone").replace(/[\s()/-]/g, "") || null });
  }
  const refused = save.error instanceof ApiError ? save.error : undefined;
  return (
    <Dialog open onClose={onClose} title={`Edit ${nameOf(customer)}`} description="The e-mail address is the customer's own to change.">
      <form onSubmit={submit} className="grid gap-4">
        <TextField label="First name" name="firstName" required maxLength={100} defaultValue={customer.firstName} error={refused?.at("firstName")} />
        <TextField label="Last name" name="lastName" maxLength={100} defaultValue={customer.lastName} error={refused?.at("lastName")} />
        <TextField label="Phone" name="phone" type="tel" defaultValue={customer.phone} hint="With the country: +49 151 2345678" error={refused?.at("phone")} />
        <Failure error={save.error} />
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" busy={save.isPending}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
