import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ArrowDownUp, ChevronDown, Download, Plus, Upload } from "lucide-react";
import { Suspense, lazy, useState } from "react";

import type { Product } from "@/domain/products";
import { useSession } from "@/session/session";
import { useStaffRight } from "@/session/staff-right";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { Loading, PageHeader } from "@/ui/page";

import { useProductsExport } from "./export";
import { ImportDialog } from "./import-dialog";
import { ProductList } from "./list";

// The form and the order of the menu bring the library for dragging, which staff without permission to edit never need.
const ProductDialog = lazy(async () => ({ default: (await import("./form")).ProductDialog }));
const ArrangeMenu = lazy(async () => ({ default: (await import("./arrange")).ArrangeMenu }));

const route = getRouteApi("/inside/products");

export function ProductsPage() {
  const {
    atLeast,
    currency,
    defaultView: { locale },
  } = useSession();
  const search = route.useSearch();
  const navigate = useNavigate();
  const [editing, setEditing] = useState<Product | "new" | null>(null);
  const [importing, setImporting] = useState(false);
  const download = useProductsExport();
  const canEdit = atLeast("MANAGER");
  const canSellOut = useStaffRight("SELL_OUT");
  const create = canEdit && (
    <Button onClick={() => setEditing("new")}>
      <Plus aria-hidden /> Add product
    </Button>
  );
  if (search.arrange && canEdit) {
    return (
      <>
        <PageHeader
          title="Order of the menu"
          about="Drag the products, or use the menu of a product. Each move is saved immediately."
          actions={
            <Button onClick={() => void navigate({ to: "/products", search: { ...search, arrange: undefined } })}>
              Done
            </Button>
          }
        />
        <Suspense fallback={<Loading />}>
          <ArrangeMenu category={search.category} />
        </Suspense>
      </>
    );
  }
  return (
    <>
      <PageHeader
        title="Products"
        about={`The menu in ${locale}, the language of the default view, with prices in ${currency}.`}
        actions={
          <>
            <Menu
              label="Menu actions"
              trigger={
                <Button variant="outline" busy={download.isPending}>
                  Menu <ChevronDown aria-hidden />
                </Button>
              }
            >
              {canEdit && (
                <MenuItem onSelect={() => void navigate({ to: "/products", search: { ...search, arrange: true } })}>
                  <ArrowDownUp className="size-4" aria-hidden /> Change order
                </MenuItem>
              )}
              {canEdit && (
                <MenuItem onSelect={() => setImporting(true)}>
                  <Upload className="size-4" aria-hidden /> Import…
                </MenuItem>
              )}
              <MenuItem onSelect={() => download.mutate()}>
                <Download className="size-4" aria-hidden /> Download as CSV
              </MenuItem>
            </Menu>
            {create}
          </>
        }
      />
      <ProductList filters={search} canEdit={canEdit} canSellOut={canSellOut} create={create} onEdit={setEditing} />
      {editing && (
        <Suspense fallback={<Loading />}>
          <ProductDialog product={editing === "new" ? undefined : editing} onClose={() => setEditing(null)} />
        </Suspense>
      )}
      {importing && <ImportDialog onClose={() => setImporting(false)} />}
    </>
  );
}
