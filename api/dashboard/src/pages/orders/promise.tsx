import { Clock } from "lucide-react";
import { type ReactNode, useState } from "react";

import type { Order } from "@/domain/orders";
import { dayOf, instantOf, timeOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Form, TextField } from "@/ui/field";
import { useClockTime } from "@/ui/format";
import { Menu, MenuItem } from "@/ui/menu";

/** The minutes from now, or from the requested time, that the menu offers. */
const minutes = [10, 15, 20, 30, 45, 60, 90];

/** Returns the times that the menu offers for an order. */
export function promises({ requestedFor }: Pick<Order, "requestedFor">, now: number): string[] {
  const requested = requestedFor ? Date.parse(requestedFor) : 0;
  const base = Math.max(now, requested);
  return minutes.map((after) => new Date(base + after * 60_000).toISOString());
}

type Props = {
  order: Order;
  /** Confirms the order with a promised time. */
  onChoose: (promisedAt: string) => void;
  trigger?: ReactNode;
};

/** Confirms an order with another promised time. */
export function PromiseMenu({ order, onChoose, trigger }: Props) {
  const clock = useClockTime();
  const [times, setTimes] = useState<string[]>([]);
  const [other, setOther] = useState(false);
  const label = `Confirm with another time: order ${order.orderId}`;
  return (
    <>
      <Menu
        label={label}
        onOpen={() => setTimes(promises(order, Date.now()))}
        trigger={
          trigger ?? (
            <Button variant="ghost" size="icon" className="size-8" aria-label={label} title="Confirm for another time">
              <Clock />
            </Button>
          )
        }
      >
        {times.map((at, i) => (
          <MenuItem key={at} onSelect={() => onChoose(at)}>
            Ready at {clock(at)} <span className="text-muted-foreground">+{minutes[i]} min</span>
          </MenuItem>
        ))}
        <MenuItem onSelect={() => setOther(true)}>Other time…</MenuItem>
      </Menu>
      {other && <OtherTimeDialog order={order} onChoose={onChoose} onClose={() => setOther(false)} />}
    </>
  );
}

function OtherTimeDialog({ order, onChoose, onClose }: Props & { onClose: () => void }) {
  const { timezone } = useSession();
  const [start] = useState(order.promisedAt);
  const [error, setError] = useState<string>();
  function submit(form: FormData) {
    const at = instantOf(String(form.get("day")), String(form.get("time")), timezone);
    if (Date.parse(at) <= Date.now()) {
      setError("Choose a time in the future.");
      return;
    }
    onChoose(at);
    onClose();
  }
  return (
    <Dialog
      onClose={onClose}
      title={`Confirm order ${order.orderId}`}
      description="The guest and connected systems see the time at which the order will be ready."
    >
      <Form onSubmit={submit} className="flex flex-col">
        <div className="grid grid-cols-2 gap-4">
          <TextField label="Day" name="day" type="date" required defaultValue={dayOf(Date.parse(start), timezone)} />
          <TextField
            label="Ready at"
            name="time"
            type="time"
            required
            defaultValue={timeOf(Date.parse(start), timezone)}
            error={error}
          />
        </div>
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit">Confirm</Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
