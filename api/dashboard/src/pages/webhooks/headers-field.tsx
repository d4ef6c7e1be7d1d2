import { Plus, X } from "lucide-react";
import { useId, useState } from "react";

import { Button } from "@/ui/button";
import { Input } from "@/ui/field";

import { type HeaderRow, maxHeaders, newHeader } from "./headers";

type Props = {
  rows: HeaderRow[];
  onChange: (rows: HeaderRow[]) => void;
  /** Returns the error at a path of the request. */
  error: (path: string) => string | undefined;
};

/** The further request headers of a new webhook, or those that replace all headers of a webhook. */
export function HeadersField({ rows, onChange, error }: Props) {
  const id = useId();
  const change = (key: number, part: Partial<HeaderRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...part } : row)));
  const general = error("headers");
  return (
    <fieldset className="grid gap-2" aria-describedby={`${id}-hint`}>
      <legend className="mb-1 text-sm font-medium">Headers</legend>
      {rows.map((row, index) => {
        const fault = error(`headers.${row.name.trim()}`);
        return (
          <div key={row.key} className="grid gap-1">
            <div className="flex flex-wrap gap-2 sm:flex-nowrap">
              <Input
                aria-label={`Name of header ${index + 1}`}
                placeholder="Authorization"
                required
                maxLength={100}
                autoComplete="off"
                spellCheck={false}
                value={row.name}
                onChange={(event) => change(row.key, { name: event.target.value })}
                aria-invalid={fault ? true : undefined}
                className="sm:w-48"
              />
              <Input
                aria-label={`Value of header ${index + 1}`}
                placeholder="Value"
                type="password"
                required
                maxLength={1000}
                autoComplete="off"
                value={row.value}
                onChange={(event) => change(row.key, { value: event.target.value })}
                aria-invalid={fault ? true : undefined}
                className="min-w-0 flex-1"
              />
              <Button
                variant="ghost"
                size="icon"
                aria-label={`Remove header ${index + 1}`}
                onClick={() => onChange(rows.filter(({ key }) => key !== row.key))}
              >
                <X />
              </Button>
            </div>
            {fault && <p className="text-xs text-danger">{fault}</p>}
          </div>
        );
      })}
      <div>
        <Button
          variant="outline"
          size="small"
          disabled={rows.length >= maxHeaders}
          onClick={() => onChange([...rows, newHeader()])}
        >
          <Plus aria-hidden /> Add header
        </Button>
      </div>
      <p id={`${id}-hint`} className={general ? "text-xs text-danger" : "text-xs text-muted-foreground"}>
        {general ?? "Sent with every request, for example Authorization. The values are not shown again."}
      </p>
    </fieldset>
  );
}

/** The headers of an existing webhook: their names, or the headers that replace them. */
export function ReplaceHeaders({
  names,
  rows,
  onChange,
  error,
}: Omit<Props, "rows" | "onChange"> & {
  names: string[];
  /** The headers that replace the present ones; null keeps these. */
  rows: HeaderRow[] | null;
  onChange: (rows: HeaderRow[] | null) => void;
}) {
  const [first] = useState(() => names.map((name) => newHeader(name)));
  if (rows === null && names.length === 0) return <HeadersField rows={[]} onChange={onChange} error={error} />;
  if (rows === null) {
    const general = error("headers");
    return (
      <fieldset className="grid gap-2">
        <legend className="mb-1 text-sm font-medium">Headers</legend>
        <p className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <code key={name} className="rounded bg-muted px-1.5 py-0.5 text-xs">
              {name}
            </code>
          ))}
        </p>
        <div>
          <Button variant="outline" size="small" onClick={() => onChange(first)}>
            Replace headers
          </Button>
        </div>
        <p className={general ? "text-xs text-danger" : "text-xs text-muted-foreground"}>
          {general ?? "Their values are not shown. A new host in the URL requires that you enter them again."}
        </p>
      </fieldset>
    );
  }
  return (
    <div className="grid gap-2">
      <HeadersField rows={rows} onChange={onChange} error={error} />
      {names.length > 0 && (
        <div>
          <Button variant="ghost" size="small" onClick={() => onChange(null)}>
            Keep the present headers
          </Button>
        </div>
      )}
    </div>
  );
}
