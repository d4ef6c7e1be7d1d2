import { ComandaError } from "@comanda/client";
import { AlertTriangle, Inbox } from "lucide-react";
import type { ComponentProps, ReactNode, Ref } from "react";

import { errorMessage, isPlain } from "@/api/error-message";
import { readable, readablePath } from "@/api/readable";
import type { Tone } from "@/domain/tone";

import { Button } from "./button";
import { cn } from "./cn";
import { useTitle } from "./title";

/** The heading of a page, with its description and actions. */
export function PageHeader({
  title,
  name,
  about,
  actions,
}: {
  title: ReactNode;
  /** The title of the document, if `title` is not a text. */
  name?: string;
  about?: ReactNode;
  actions?: ReactNode;
}) {
  useTitle(name ?? (typeof title === "string" ? title : undefined));
  return (
    <header className="mb-5 flex flex-wrap items-start justify-between gap-3">
      <div>
        <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        {about && <p className="mt-1 max-w-prose text-sm text-muted-foreground">{about}</p>}
      </div>
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </header>
  );
}

export function Card({
  title,
  actions,
  className,
  ref,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  className?: string;
  /** The card can be focused by a script if this is set. */
  ref?: Ref<HTMLElement>;
  children: ReactNode;
}) {
  return (
    <section
      ref={ref}
      tabIndex={ref ? -1 : undefined}
      className={cn("rounded-lg border bg-surface p-4 outline-none", className)}
    >
      {(title || actions) && (
        <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

const tones: Record<Tone, string> = {
  neutral: "text-muted-foreground",
  good: "text-success",
  bad: "text-danger",
  warn: "text-warning",
  accent: "text-primary",
};

export const Badge = ({ tone = "neutral", className, ...props }: { tone?: Tone } & ComponentProps<"span">) => (
  <span
    className={cn(
      "inline-flex items-center gap-1 rounded-full border border-current/30 px-2 py-0.5 text-xs font-medium",
      tones[tone],
      className,
    )}
    {...props}
  />
);

/** The empty state of a list: what will appear here and how. */
export const Empty = ({ title, children }: { title: ReactNode; children?: ReactNode }) => (
  <div className="grid justify-items-center gap-2 rounded-lg border border-dashed p-8 text-center">
    <Inbox className="size-6 text-muted-foreground" aria-hidden />
    <p className="font-medium">{title}</p>
    {children && (
      <div className="grid max-w-prose justify-items-center gap-3 text-sm text-muted-foreground">{children}</div>
    )}
  </div>
);

/** An error message with the request id, which identifies the request in the server log. */
export function Failure({ error, retry, className }: { error: unknown; retry?: () => void; className?: string }) {
  if (!error) return null;
  const known = error instanceof ComandaError ? error : null;
  const details = known && !isPlain(known) ? known.details : [];
  return (
    <div role="alert" className={cn("flex gap-3 rounded-md border border-danger/40 p-3 text-sm", className)}>
      <AlertTriangle className="size-4 shrink-0 translate-y-0.5 text-danger" aria-hidden />
      <div className="grid gap-1">
        <p>{errorMessage(error)}</p>
        {details.length > 0 && (
          <ul className="list-inside list-disc text-muted-foreground">
            {details.map((detail) => (
              <li key={detail.path + detail.message}>
                {detail.path && <>{readablePath(detail.path)}:</>} {readable(detail.message)}
              </li>
            ))}
          </ul>
        )}
        {known?.requestId && (
          <p className="text-xs text-muted-foreground">
            Request <code>{known.requestId}</code>
          </p>
        )}
      </div>
      {retry && (
        <Button variant="outline" size="small" className="ml-auto" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export const Loading = ({ label = "Loading" }: { label?: string }) => (
  <p role="status" className="p-6 text-center text-sm text-muted-foreground">
    {label}…
  </p>
);

type Query = { isPending: boolean; error: unknown; failureReason?: unknown; refetch: () => unknown };

/** The loading and error states of a query. */
export const QueryState = ({ query, className }: { query: Query; className?: string }) => {
  const limited =
    !query.error &&
    query.failureReason instanceof ComandaError &&
    query.failureReason.status === 429 &&
    query.failureReason.retryAfter;
  return (
    <>
      <Failure error={query.error} retry={() => void query.refetch()} className={className} />
      {limited && (
        <p role="status" className={cn("p-6 text-center text-sm text-muted-foreground", className)}>
          Too many requests. This page continues in {limited} seconds.
        </p>
      )}
      {query.isPending && !limited && <Loading />}
    </>
  );
};

type Column = string | false | { right: string } | { hidden: string };

/** The header row of a table. `right` aligns a name like its numbers; `hidden` shows it to screen readers only. */
export const Columns = ({ names }: { names: Column[] }) => (
  <thead>
    <tr>
      {names.map((name) => {
        if (!name) return null;
        if (typeof name === "string") return <th key={name}>{name}</th>;
        if ("right" in name)
          return (
            <th key={name.right} className="text-right!">
              {name.right}
            </th>
          );
        return (
          <th key={name.hidden}>
            <span className="sr-only">{name.hidden}</span>
          </th>
        );
      })}
    </tr>
  </thead>
);

// Shows each row as a block on narrow screens, for tables with many columns.
const stackedRows = cn(
  "max-sm:[&_tbody]:block max-sm:[&_thead]:sr-only",
  "max-sm:[&_td]:block max-sm:[&_td]:border-0 max-sm:[&_td]:py-0.5 max-sm:[&_td]:text-left",
  "max-sm:[&_tr]:block max-sm:[&_tr]:border-t max-sm:[&_tr]:py-2 max-sm:[&_tr:first-child]:border-t-0",
);

/** A table. On narrow screens it scrolls horizontally or, if `stacked`, shows each row as a block. */
export const Table = ({
  label,
  stacked,
  className,
  ...props
}: { label: string; stacked?: boolean } & ComponentProps<"table">) => (
  <div className="relative overflow-x-auto rounded-lg border bg-surface" tabIndex={0} role="region" aria-label={label}>
    <table
      className={cn(
        "w-full text-left text-sm [&_td]:border-t [&_td]:px-3 [&_td]:py-2 [&_th]:px-3 [&_th]:py-2",
        "[&_th]:text-xs [&_th]:font-medium [&_th]:whitespace-nowrap [&_th]:text-muted-foreground",
        stacked && stackedRows,
        className,
      )}
      {...props}
    />
  </div>
);
