import type { components } from "@comanda/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, fieldErrors, ifMatch } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate, queries } from "@/api/queries";
import { type Customer, isErased, nameOf, kinds } from "@/domain/customers";
import { channelOf, statusTone, statuses } from "@/domain/orders";
import { useSession } from "@/session/session";
import { addressLines } from "@/ui/address";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { Money, Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Card, Columns, Failure, PageHeader, QueryState, Table } from "@/ui/page";
import { internationalPhone } from "@/ui/phone";
import { PhoneField } from "@/ui/phone-field";
import { useToast } from "@/ui/toast";

import { DisableDialog } from "./disable";
import { EraseDialog } from "./erase";
import { ExportButton } from "./export";

const route = getRouteApi("/inside/customers/$id");

export function CustomerPage() {
  const { id } = route.useParams();
  const customer = useQuery(queries.customers.one(id));
  const [editing, setEditing] = useState(false);
  const [disabling, setDisabling] = useState(false);
  const [erasing, setErasing] = useState(false);
  const { atLeast } = useSession();
  const erased = customer.data !== undefined && isErased(customer.data);
  return (
    <>
      <Link to="/customers" className={cn(link, "mb-2 inline-block text-sm")}>
        Customers
      </Link>
      <QueryState query={customer} />
      {customer.data && (
        <>
          <PageHeader
            title={
              <span className="flex flex-wrap items-center gap-2 break-words">
                {nameOf(customer.data)}{" "}
                {!erased && (
                  <Badge tone={customer.data.kind === "registered" ? "accent" : "neutral"}>
                    {kinds[customer.data.kind]}
                  </Badge>
                )}
                {!erased && customer.data.disabled && <Badge tone="bad">disabled</Badge>}
              </span>
            }
            about={
              <>
                {erased
                  ? "The personal data of this customer was erased. The orders and points stay."
                  : [customer.data.phone, customer.data.email].filter(Boolean).join(" · ")}
                <span className="block">
                  {counted(customer.data.totalOrders, "order")} · {counted(customer.data.loyaltyPoints, "point")} ·
                  since <Time at={customer.data.createdAt} />
                </span>
              </>
            }
            actions={
              !erased && (
                <>
                  <Button variant="outline" onClick={() => setEditing(true)}>
                    Edit
                  </Button>
                  {customer.data.kind === "registered" && (
                    <Button variant={customer.data.disabled ? "outline" : "danger"} onClick={() => setDisabling(true)}>
                      {customer.data.disabled ? "Enable" : "Disable"}
                    </Button>
                  )}
                  {atLeast("ADMIN") && (
                    <>
                      <ExportButton customer={customer.data} />
                      <Button variant="danger" onClick={() => setErasing(true)}>
                        Erase
                      </Button>
                    </>
                  )}
                </>
              )
            }
          />
          <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
            <Orders customer={id} />
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              <Addresses customer={id} />
              <Points customer={customer.data} />
            </div>
          </div>
          {disabling && <DisableDialog customer={customer.data} onClose={() => setDisabling(false)} />}
          {erasing && <EraseDialog customer={customer.data} onClose={() => setErasing(false)} />}
          {editing && <EditDialog customer={customer.data} onClose={() => setEditing(false)} />}
        </>
      )}
    </>
  );
}

function Orders({ customer }: { customer: string }) {
  const orders = useList(queries.orders.list({ customerId: customer }));
  return (
    <Card title="Orders" className="min-w-0">
      <QueryState query={orders} />
      {orders.data && orders.rows.length === 0 && (
        <p className="text-sm text-muted-foreground">No orders yet. Orders of this customer appear here.</p>
      )}
      {orders.rows.length > 0 && (
        <Table label="Orders of this customer" stacked>
          <Columns names={["Order", "Status", "Placed", { right: "Total" }]} />
          <tbody>
            {orders.rows.map((order) => (
              <tr key={order.id}>
                <td>
                  <Link to="/orders/$id" params={{ id: order.id }} className={cn(link, "font-medium")}>
                    #{order.orderId}
                  </Link>
                  <span className="block text-xs text-muted-foreground">{channelOf(order)}</span>
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
      <ShowMore list={orders} />
    </Card>
  );
}

function Addresses({ customer }: { customer: string }) {
  const { locale } = useSession();
  const addresses = useQuery(queries.customers.addresses(customer));
  return (
    <Card title="Addresses">
      <QueryState query={addresses} />
      {addresses.data?.length === 0 && (
        <p className="text-sm text-muted-foreground">No addresses yet. Customers add them in your shop.</p>
      )}
      <div className="grid gap-3">
        {addresses.data?.map((one) => (
          <address key={one.id} className="text-sm break-words not-italic">
            <span className="flex items-center gap-2 font-medium">
              {one.label} {one.isDefault && <Badge tone="accent">default</Badge>}
            </span>
            {addressLines(one, locale).join(", ")}
            {one.notes && <span className="block text-xs text-muted-foreground">{one.notes}</span>}
          </address>
        ))}
      </div>
    </Card>
  );
}

const reasons: Record<components["schemas"]["LoyaltyEntry"]["kind"], string> = {
  EARNED: "earned with",
  REVERSED: "deducted for a refund of",
  RESTORED: "restored for",
  REDEEMED: "redeemed with",
  RETURNED: "returned for",
};

const counted = (n: number, what: string) => (n === 1 ? `1 ${what}` : `${n} ${what}s`);

function Points({ customer }: { customer: Customer }) {
  const entries = useList(queries.customers.points(customer.id));
  return (
    <Card title="Points" actions={<span className="text-lg font-semibold tabular-nums">{customer.loyaltyPoints}</span>}>
      <Failure error={entries.error} retry={() => void entries.refetch()} />
      {entries.data && entries.rows.length === 0 && (
        <p className="text-sm text-muted-foreground">No points yet. Customers earn points with completed orders.</p>
      )}
      <ul className="grid gap-2">
        {entries.rows.map((entry) => (
          <li key={entry.id} className="flex items-baseline gap-2 text-sm">
            <span
              className={
                entry.points < 0 ? "font-medium text-danger tabular-nums" : "font-medium text-success tabular-nums"
              }
            >
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
      <ShowMore list={entries} />
    </Card>
  );
}

function EditDialog({ customer, onClose }: { customer: Customer; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const { country } = useSession();
  const [phone, setPhone] = useState(customer.phone ?? "");
  const save = useMutation({
    mutationFn: (body: components["schemas"]["ChangeCustomerRequest"]) =>
      data(
        api.PATCH("/customers/{id}", {
          params: { path: { id: customer.id }, header: ifMatch(customer) },
          body,
        }),
      ),
    onSuccess: () => {
      toast("Customer saved");
      onClose();
    },
    onSettled: () => invalidate("customers"),
  });
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name)).trim();
    save.mutate({
      firstName: text("firstName"),
      lastName: text("lastName") || null,
      phone: internationalPhone(phone, country) || null,
    });
  }
  const fieldError = fieldErrors(save.error);
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit ${nameOf(customer)}`}
      description="Only the customer can change the email address."
      mutation={save}
      onSubmit={submit}
      submitLabel="Save"
    >
      <TextField
        label="First name"
        name="firstName"
        required
        {...limits.ChangeCustomerRequest.firstName}
        defaultValue={customer.firstName}
        error={fieldError("firstName")}
      />
      <TextField
        label="Last name"
        name="lastName"
        {...limits.ChangeCustomerRequest.lastName}
        defaultValue={customer.lastName}
        error={fieldError("lastName")}
      />
      <PhoneField value={phone} onValue={setPhone} error={fieldError("phone")} />
    </FormDialog>
  );
}
