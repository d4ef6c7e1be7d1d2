import { ComandaError } from "@comanda/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api } from "@/api/client";
import { queries, allOf } from "@/api/queries";
import { type Customer, nameOf } from "@/domain/customers";
import { dayOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { ShortTime } from "@/ui/format";
import { inlineLink } from "@/ui/link";
import { Failure } from "@/ui/page";
import { useToast } from "@/ui/toast";

/** The number of orders, and of reservations, that the dialog links. */
const shown = 20;

/** Erases the personal data of a customer after the user has entered the customer's name. */
export function EraseDialog({ customer, onClose }: { customer: Customer; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const { id } = customer;
  const name = nameOf(customer);
  const [entered, setEntered] = useState("");
  const erase = useMutation({
    mutationFn: () => api.DELETE("/customers/{id}", { params: { path: { id } } }),
    onSuccess: async () => {
      toast(`The data of ${name} is erased`);
      await navigate({ to: "/customers" });
      client.removeQueries(allOf("customers"));
      void client.invalidateQueries();
    },
  });
  const blocked = erase.error instanceof ComandaError && erase.error.status === 409;
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Erase ${name}?`}
      mutation={blocked ? { isPending: erase.isPending, error: null } : erase}
      onSubmit={() => erase.mutate()}
      submitLabel="Erase personal data"
      disabled={entered.trim() !== name}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>
          The name, the contact details, the addresses and the notes are replaced in the profile, in orders, in
          reservations and in payments. You cannot undo this.
        </li>
        <li>Amounts, counts and analytics do not change.</li>
        <li>
          The customer is logged out. Webhooks receive that the data was erased; earlier events lose their bodies.
        </li>
        <li>The erasure is recorded in the audit trail.</li>
      </ul>
      {blocked && <Blocked customer={id} />}
      <TextField
        label={`Enter “${name}” to confirm`}
        autoComplete="off"
        spellCheck={false}
        value={entered}
        onChange={(event) => setEntered(event.target.value)}
      />
    </FormDialog>
  );
}

/** The open orders and reservations of a customer, which must end before the erasure. */
function Blocked({ customer }: { customer: string }) {
  const { timezone } = useSession();
  const open = useQuery(queries.customers.open(customer, shown));
  return (
    <div role="alert" className="grid gap-2 rounded-md border border-danger/40 p-3 text-sm">
      <p>
        This customer has open orders or reservations. Complete or cancel them first, because your team still needs the
        data.
      </p>
      <Failure error={open.error} retry={() => void open.refetch()} />
      <ul className="list-inside list-disc">
        {open.data?.orders.map((order) => (
          <li key={order.id}>
            <Link to="/orders/$id" params={{ id: order.id }} className={inlineLink}>
              Order {order.orderId}
            </Link>
          </li>
        ))}
        {open.data?.reservations.map(({ id, startAt }) => (
          <li key={id}>
            <Link to="/reservations" search={{ day: dayOf(Date.parse(startAt), timezone) }} className={inlineLink}>
              Reservation on <ShortTime at={startAt} />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
