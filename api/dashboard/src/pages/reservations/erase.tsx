import { useMutation } from "@tanstack/react-query";

import { api } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import type { Reservation } from "@/domain/reservations";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

type Props = { reservation: Reservation; onClose: () => void };

/** Erases the personal data of a guest from a reservation that has ended. */
export function EraseDialog({ reservation, onClose }: Props) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const { name } = reservation.customer;
  const erase = useMutation({
    mutationFn: () => api.DELETE("/reservations/{id}", { params: { path: { id: reservation.id } } }),
    onSuccess: async () => {
      // The button that opened the dialog disappears first, so that the focus moves to the line.
      await invalidate("reservations");
      toast(`The data of ${name} is erased`);
      onClose();
    },
    onError: () => invalidate("reservations"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Erase the data of ${name}?`}
      mutation={erase}
      onSubmit={() => erase.mutate()}
      submitLabel="Erase personal data"
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>
          The name, the contact details, the table, the notes and the reason of a cancellation are removed from this
          reservation. You cannot undo this.
        </li>
        <li>The time, the number of guests and the status stay.</li>
        <li>Earlier events of the reservation lose their bodies once their deliveries have ended.</li>
        <li>The erasure is recorded in the audit trail.</li>
      </ul>
    </FormDialog>
  );
}
