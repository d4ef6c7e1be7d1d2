import { Check, ChevronsUpDown } from "lucide-react";
import { useState } from "react";

import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { Badge } from "@/ui/page";
import { useErrorToast } from "@/ui/toast";

/** Switches the active store and its view. The view sets the currency and the language of product names. */
export function StoreSwitch() {
  const { store: active, stores, storeId, storeName, viewId, viewLocale, currency, switchStore } = useSession();
  const showError = useErrorToast();
  const [busy, setBusy] = useState(false);
  const website = stores.filter((store) => store.websiteId === active?.websiteId);
  async function change(store: string, storeView?: string) {
    setBusy(true);
    try {
      await switchStore(store, storeView);
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <div className="grid gap-1.5" data-active-store={storeId}>
      <Chooser
        label="Store"
        busy={busy}
        value={storeId}
        name={storeName}
        options={website.map((store) => [store.storeId, store.storeName])}
        onChoose={(store) => void change(store)}
      />
      {active?.sandboxOf && (
        <Badge tone="warn" className="justify-self-start">
          sandbox
        </Badge>
      )}
      {active && active.storeViews.length > 1 && (
        <Chooser
          label="View"
          busy={busy}
          value={viewId}
          name={`${viewLocale} · ${currency}`}
          options={active.storeViews.map((one) => [one.id, `${one.locale} · ${one.currency}`])}
          onChoose={(storeView) => void change(storeId, storeView)}
        />
      )}
    </div>
  );
}

type ChooserProps = {
  label: string;
  busy: boolean;
  value: string | undefined;
  /** The name of the value. */
  name: string;
  options: [value: string, name: string][];
  onChoose: (value: string) => void;
};

/** A menu of alternatives. Arrow keys only move in it: nothing changes until an alternative is chosen. */
function Chooser({ label, busy, value, name, options, onChoose }: ChooserProps) {
  return (
    <Menu
      label={label}
      trigger={
        <Button variant="outline" className="justify-between px-3" busy={busy} aria-label={`${label}: ${name}`}>
          <span className="truncate">{name}</span> <ChevronsUpDown className="text-muted-foreground" aria-hidden />
        </Button>
      }
    >
      {options.map(([option, text]) => (
        <MenuItem key={option} onSelect={() => option !== value && onChoose(option)}>
          <span className="min-w-0 flex-1 break-words">{text}</span>
          {option === value && (
            <>
              <Check className="size-4" aria-hidden />
              <span className="sr-only">(active)</span>
            </>
          )}
        </MenuItem>
      ))}
    </Menu>
  );
}
