import { useMutation } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { type Customer, nameOf } from "@/domain/customers";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

/** Disables the account of a customer, or enables a disabled one. */
export function DisableDialog({ customer, onClose }: { customer: Customer; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const { id, disabled } = customer;
  const name = nameOf(customer);
  const change = useMutation({
    mutationFn: () => data(api.PATCH("/customers/{id}", { params: { path: { id } }, body: { disabled: !disabled } })),
    onSuccess: () => {
      toast(disabled ? `${name} enabled` : `${name} disabled`);
      onClose();
    },
    onSettled: () => invalidate("customers"),
  });
  return (
    <FormDialog
      danger={!disabled}
      onClose={onClose}
      title={disabled ? `Enable ${name}?` : `Disable ${name}?`}
      mutation={change}
      onSubmit={() => change.mutate()}
      submitLabel={disabled ? "Enable customer" : "Disable customer"}
      cancelLabel={disabled ? "Keep disabled" : "Keep enabled"}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {disabled ? (
          <li>The customer can log in to your shop again.</li>
        ) : (
          <>
            <li>The customer is logged out of your shop immediately and can no longer log in.</li>
            <li>Orders, points and addresses do not change. You can enable the customer again.</li>
          </>
        )}
        <li>The change is recorded in the audit trail.</li>
      </ul>
    </FormDialog>
  );
}
