import { useRef, useState } from "react";

import { type Product, nameIn } from "@/domain/products";
import { Button } from "@/ui/button";
import { Dialog, DialogActions, FormDialog } from "@/ui/dialog";
import { Checkbox } from "@/ui/field";

import { Conflict } from "./conflict";
import { CopyGroups } from "./copy-groups";
import { CategoryAndSku, Image, Prices, StockAndTax, Texts, Translations } from "./fields";
import { maxGroups } from "./groups";
import { OptionGroups } from "./option-groups";
import { useProductForm } from "./use-product-form";

/** Adds a product or, if one is given, changes it. */
export function ProductDialog({ product, onClose }: { product?: Product; onClose: () => void }) {
  const form = useProductForm(product, onClose);
  const { views, draft } = form;
  const [dialog, setDialog] = useState<"copy" | "discard" | null>(null);
  const dragging = useRef(false);
  function close() {
    if (dragging.current) return; // Escape cancels the drag
    if (form.isDirty) setDialog("discard");
    else onClose();
  }
  return (
    <>
      <FormDialog
        wide
        onClose={close}
        title={product ? `Edit ${nameIn(product, views.locales[0]!)}` : "Add product"}
        mutation={form.saving}
        onSubmit={form.submit}
        submitLabel={product ? "Save" : "Add"}
        className="sm:grid-cols-2"
      >
        <Texts form={form} />
        <CategoryAndSku form={form} />
        <Prices form={form} />
        <StockAndTax form={form} />
        <Image form={form} />
        <Translations form={form} />
        <OptionGroups
          groups={draft.groups}
          own={draft.currency}
          views={views}
          errors={form.groupErrors}
          open={form.openGroup}
          onOpen={form.setOpenGroup}
          onChange={form.setGroups}
          onCopy={() => setDialog("copy")}
          onDragging={(next) => {
            dragging.current = next;
          }}
        />
        <Checkbox
          label="Available for orders"
          checked={draft.isAvailable}
          onChange={(event) => form.set({ isAvailable: event.target.checked })}
          className="sm:col-span-2"
        />
        {form.differences.length > 0 && <Conflict differences={form.differences} onDiscard={form.discard} />}
      </FormDialog>
      {dialog === "copy" && (
        <CopyGroups
          views={views}
          room={maxGroups - draft.groups.length}
          onCopy={(group) => {
            form.setGroups((groups) => [...groups, group]);
            form.setOpenGroup(group.key);
            setDialog(null);
          }}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === "discard" && <DiscardDialog onKeep={() => setDialog(null)} onDiscard={onClose} />}
    </>
  );
}

const DiscardDialog = ({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) => (
  <Dialog explicit onClose={onKeep} title="Discard your changes?">
    <DialogActions>
      <Button variant="outline" onClick={onKeep}>
        Keep editing
      </Button>
      <Button variant="danger" onClick={onDiscard}>
        Discard
      </Button>
    </DialogActions>
  </Dialog>
);
