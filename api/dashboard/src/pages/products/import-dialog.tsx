import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, newIdempotencyKey } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import type { Tone } from "@/domain/tone";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Dialog, DialogActions } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { Badge, Columns, Failure, Loading, Table } from "@/ui/page";

import { type Fault, type FileType, faultsOf, fieldLabel, typeOf } from "./import";

type Result = components["schemas"]["ProductImport"];
type Action = Result["rows"][number]["action"];

type Chosen = { name: string; type: FileType; bytes: ArrayBuffer; key: string };

/** Sends a file as it is: the API reads the byte order mark, the separator and the encoding. */
const send = ({ type, bytes, key }: Chosen, dryRun: boolean) =>
  data(
    api.POST("/products/import", {
      params: { query: { dryRun }, header: dryRun ? {} : { "Idempotency-Key": key } },
      headers: { "Content-Type": type },
      body: bytes as unknown as string,
      bodySerializer: (body: unknown) => body as BodyInit,
    }),
  );

/** Imports products from a file after a preview of the changes. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const invalidate = useInvalidate();
  const check = useMutation({ mutationFn: (chosen: Chosen) => send(chosen, true) });
  const run = useMutation({
    mutationFn: (chosen: Chosen) => send(chosen, false),
    onSettled: () => invalidate("products"),
  });
  const chosen = check.variables;
  async function choose(file: File | undefined) {
    if (!file) return;
    run.reset();
    const bytes = await file.arrayBuffer();
    check.mutate({ name: file.name, type: typeOf(file.name), bytes, key: newIdempotencyKey() });
  }
  const error = run.error ?? check.error;
  const faults = chosen ? faultsOf(error, chosen.type) : [];
  const result = run.data ?? check.data;
  const changes = check.data ? check.data.created + check.data.updated : 0;
  return (
    <Dialog
      wide
      onClose={onClose}
      title="Import products"
      description={
        <>
          Products are matched by SKU. A column that is missing leaves the values as they are. Nothing changes before
          you confirm the preview.
        </>
      }
    >
      {!run.data && (
        <TextField
          label="CSV or JSON file"
          type="file"
          accept=".csv,.json,text/csv,application/json"
          className="[&_input]:py-1.5"
          hint={
            <>
              A CSV has the columns of “Download as CSV”; sku is required. Remove the column stockQuantity to keep the
              stock.
            </>
          }
          onClick={(event) => {
            event.currentTarget.value = ""; // so that the same file can be chosen again after a correction
          }}
          onChange={(event) => void choose(event.target.files?.[0])}
        />
      )}
      {check.isPending && <Loading label="Checking the file" />}
      {faults.length > 0 ? <Faults faults={faults} type={chosen!.type} /> : <Failure error={error} />}
      {!error && result && <Preview key={String(result.dryRun)} result={result} />}
      <DialogActions>
        {run.data ? (
          <Button onClick={onClose}>Done</Button>
        ) : (
          <>
            <Button variant="outline" onClick={onClose}>
              Cancel
            </Button>
            <Button
              busy={run.isPending}
              disabled={changes === 0 || check.isPending || check.isError}
              onClick={() => run.mutate(chosen!)}
            >
              {changes > 0 ? `Import ${changes} ${changes === 1 ? "product" : "products"}` : "Import"}
            </Button>
          </>
        )}
      </DialogActions>
    </Dialog>
  );
}

function Faults({ faults, type }: { faults: Fault[]; type: FileType }) {
  return (
    <div role="alert" className="grid gap-2">
      <p className="text-sm text-danger">
        Nothing was imported. Correct {faults.length === 1 ? "this error" : "these errors"} in the file, then choose it
        again.{faults.length === 100 && " There may be more errors than the first 100."}
      </p>
      <Table label="Errors in the file">
        <Columns names={[type === "text/csv" ? "Row" : "Element", "Column", "Error"]} />
        <tbody>
          {faults.map(({ row, column, message }, i) => (
            <tr key={i}>
              <td className="tabular-nums">{row ?? "–"}</td>
              <td>
                <code className="text-xs">{column ?? "–"}</code>
              </td>
              <td>{message}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}

const actions: Record<Action, { label: string; tone: Tone }> = {
  CREATE: { label: "New", tone: "good" },
  UPDATE: { label: "Changed", tone: "accent" },
  NONE: { label: "Unchanged", tone: "neutral" },
};

/** The number of rows that are shown initially. */
const shownRows = 100;

function Preview({ result }: { result: Result }) {
  const { created, updated, unchanged, dryRun } = result;
  const [only, setOnly] = useState<"ALL" | Action>("ALL");
  const [shown, setShown] = useState(shownRows);
  const rows = result.rows.filter(({ action }) => only === "ALL" || action === only);
  return (
    <div className="grid gap-3">
      <p role="status" className="text-sm">
        {dryRun ? "Preview" : "Imported"}: {created} new, {updated} changed, {unchanged} unchanged.
      </p>
      <div>
        <Choice
          label="Rows"
          value={only}
          options={{
            ALL: `All ${result.rows.length}`,
            CREATE: `New ${created}`,
            UPDATE: `Changed ${updated}`,
            NONE: `Unchanged ${unchanged}`,
          }}
          onChange={setOnly}
        />
      </div>
      <Table label={dryRun ? "Preview" : "Result"}>
        <Columns names={["SKU", "Change", "Changed fields"]} />
        <tbody>
          {rows.slice(0, shown).map(({ row, sku, action, changedFields }) => (
            <tr key={row}>
              <td className="break-all">{sku}</td>
              <td>
                <Badge tone={actions[action].tone}>{actions[action].label}</Badge>
              </td>
              <td>{changedFields.map(fieldLabel).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      {rows.length > shown && (
        <div className="text-center">
          <Button variant="outline" onClick={() => setShown(shown + shownRows)}>
            Show more
          </Button>
        </div>
      )}
    </div>
  );
}
