import type { components } from "@comanda/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Ban, ChevronDown } from "lucide-react";
import { useState } from "react";

import { api, data } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { type Availability, availabilityOf, endOfBusinessDay, instantOfLocal, localOf } from "@/domain/availability";
import type { Product } from "@/domain/products";
import type { Tone } from "@/domain/tone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { ShortTime, Time } from "@/ui/format";
import { Menu, MenuItem } from "@/ui/menu";
import { Badge } from "@/ui/page";
import { useToast, useErrorToast } from "@/ui/toast";

type Change = Pick<components["schemas"]["ChangeProductRequest"], "isAvailable" | "soldOutUntil">;

const states: Record<Availability, { label: string; tone: Tone }> = {
  available: { label: "Available", tone: "good" },
  unavailable: { label: "Unavailable", tone: "neutral" },
  soldOut: { label: "Sold out", tone: "bad" },
  outOfStock: { label: "Out of stock", tone: "bad" },
};

/** Whether customers can order a product and, if it is sold out, until when. */
function AvailabilityBadge({ product, availability }: { product: Product; availability: Availability }) {
  return (
    <Badge tone={states[availability].tone} className="text-left">
      {states[availability].label}
      {availability === "soldOut" && (
        <span>
          until <ShortTime at={product.soldOutUntil!} />
        </span>
      )}
    </Badge>
  );
}

/** The time until which a product is sold out "for today": the end of the store's business day. */
function useEndOfDay(now: number): string | undefined {
  const { timezone } = useSession();
  const store = useQuery({ ...queries.store, staleTime: 60_000 });
  return store.data && endOfBusinessDay(now, timezone, store.data.businessDayCutoffHour);
}

type Props = {
  product: Product;
  name: string;
  now: number;
  /** Whether the user can edit the product. */
  canEdit: boolean;
  /** Whether the user can mark it as sold out, which is less. */
  canSellOut: boolean;
  /** Shows only the menu, behind an icon. */
  compact?: boolean;
};

/** Shows whether a product can be ordered. For editors it is a menu that marks it as sold out, or available again. */
export function AvailabilityMenu({ canSellOut, ...props }: Props) {
  const availability = availabilityOf(props.product, props.now);
  return props.canEdit || (canSellOut && availability !== "unavailable") ? (
    <Editor {...props} availability={availability} />
  ) : (
    !props.compact && <AvailabilityBadge product={props.product} availability={availability} />
  );
}

type EditorProps = Omit<Props, "canSellOut"> & { availability: Availability };

function Editor({ product, name, availability, now, canEdit, compact }: EditorProps) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  const endOfDay = useEndOfDay(now);
  const [choosing, setChoosing] = useState(false);
  // The change has no version: it applies regardless of other changes.
  const change = useMutation({
    mutationFn: ({ body }: { body: Change; done: string }) => {
      const params = { path: { id: product.id } };
      if (canEdit) return data(api.PATCH("/products/{id}", { params, body }));
      return data(api.POST("/products/{id}/sold-out", { params, body: { until: body.soldOutUntil ?? null } }));
    },
    onSuccess: (_, { done }) => {
      toast(`${name} ${done}`);
      setChoosing(false);
    },
    onError: (error) => choosing || showError(error),
    onSettled: () => invalidate("products"),
  });
  const off = availability === "unavailable" || availability === "soldOut";
  const label = `Availability of ${name}: ${states[availability].label}`;
  return (
    <>
      <Menu
        label={`Availability of ${name}`}
        trigger={
          compact ? (
            <Button variant="ghost" size="icon" busy={change.isPending} aria-label={label} title="Sold out?">
              <Ban />
            </Button>
          ) : (
            <Button
              variant="ghost"
              size="small"
              className="-ml-2 px-2 max-sm:min-h-11"
              busy={change.isPending}
              aria-label={label}
            >
              <AvailabilityBadge product={product} availability={availability} />
              <ChevronDown aria-hidden />
            </Button>
          )
        }
      >
        {off && (
          <MenuItem
            onSelect={() =>
              change.mutate({ body: { isAvailable: true, soldOutUntil: null }, done: "is available again" })
            }
          >
            Available again
          </MenuItem>
        )}
        {endOfDay && (
          <MenuItem
            onSelect={() =>
              change.mutate({ body: { isAvailable: true, soldOutUntil: endOfDay }, done: "is sold out for today" })
            }
          >
            <span>
              Sold out for today
              <span className="block text-xs text-muted-foreground">
                until <ShortTime at={endOfDay} />
              </span>
            </span>
          </MenuItem>
        )}
        <MenuItem onSelect={() => setChoosing(true)}>Sold out until…</MenuItem>
        {canEdit && availability !== "unavailable" && (
          <MenuItem onSelect={() => change.mutate({ body: { isAvailable: false }, done: "is unavailable" })}>
            Unavailable until further notice
          </MenuItem>
        )}
      </Menu>
      {choosing && (
        <UntilDialog
          name={name}
          now={now}
          mutation={change}
          onClose={() => setChoosing(false)}
          onSubmit={(until) => change.mutate({ body: { isAvailable: true, soldOutUntil: until }, done: "is sold out" })}
        />
      )}
    </>
  );
}

/** The longest time in milliseconds for which a product can be sold out. */
const longest = 366 * 86_400_000;

type UntilProps = {
  name: string;
  now: number;
  mutation: { isPending: boolean; error: unknown };
  onClose: () => void;
  onSubmit: (until: string) => void;
};

function UntilDialog({ name, now, mutation, onClose, onSubmit }: UntilProps) {
  const { timezone } = useSession();
  const [text, setText] = useState(() => localOf(now + 3_600_000, timezone));
  const until = instantOfLocal(text, timezone);
  return (
    <FormDialog
      onClose={onClose}
      title={`${name}: sold out until`}
      mutation={mutation}
      onSubmit={() => until && onSubmit(until)}
      submitLabel="Mark as sold out"
    >
      <TextField
        label={`Date and time (${timezone})`}
        type="datetime-local"
        required
        min={localOf(now + 60_000, timezone)}
        max={localOf(now + longest, timezone)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        hint={
          until && (
            <>
              {name} can be ordered again from <Time at={until} />.
            </>
          )
        }
      />
    </FormDialog>
  );
}
