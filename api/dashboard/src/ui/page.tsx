import { AlertTriangle, Inbox } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

import { ApiError } from "@/api/client";

import { Button } from "./button";
import { cn } from "./cn";

/** The heading of a page, with what can be done on it. */
export function PageHeader({ title, about, actions }: { title: ReactNode; about?: ReactNode; actions?: ReactNode }) {
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

export function Card({ title, actions, className, children }: { title?: ReactNode; actions?: ReactNode; className?: string; children: ReactNode }) {
  return (
    <section className={cn("rounded-lg border bg-surface p-4", className)}>
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

const tones = {
  neutral: "text-muted-foreground",
  good: "text-success",
  bad: "text-danger",
  warn: "text-warning",
  accent: "text-primary",
};

export type Tone = keyof typeof tones;

export const Badge = ({ tone = "neutral", className, ...props }: { tone?: Tone } & ComponentProps<"span">) => (
  <span
    className={cn("inline-flex items-center gap-1 rounded-full border border-current/30 px-2 py-0.5 text-xs font-medium", tones[tone], className)}
    {...props}
  />
);

/** An empty list, and how to fill it. */
export const Empty = ({ title, children }: { title: ReactNode; children?: ReactNode }) => (
  <div className="grid justify-items-center gap-2 rounded-lg border border-dashed p-8 text-center">
    <Inbox className="size-6 text-muted-foreground" aria-hidden />
    <p className="font-medium">{title}</p>
    {children && <div className="grid max-w-prose justify-items-center gap-3 text-sm text-muted-foreground">{children}</div>}
  </div>
);

/** What went wrong, in plain words, with the id by which the service's log tells more. */
export function Failure({ error, retry, className }: { error: unknown; retry?: () => void; className?: string }) {
  if (!error) return null;
  const known = error instanceof ApiError ? error : null;
  const details = known?.details ?? [];
  return (
    <div role="alert" className={cn("flex gap-3 rounded-md border border-danger/40 p-3 text-sm", className)}>
      <AlertTriangle className="size-4 shrink-0 translate-y-0.5 text-danger" aria-hidden />
      <div className="grid gap-1">
        <p>{known ? sentence(known) : "Something unexpected happened on this page."}</p>
        {details.length > 0 && (
          <ul className="list-inside list-disc text-muted-foreground">
            {details.map((detail) => (
              <li key={detail.path + detail.message}>
                {detail.path && <code className="text-xs">{detail.path}</code>} {detail.message}
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

function sentence(error: ApiError) {
  if (error.code === "RATE_LIMITED" && error.retryAfter) return `Too many tries. Wait ${error.retryAfter} seconds, then try again.`;
  if (error.status >= 500) return "The service has a problem. Nothing was changed unless it says otherwise; try again in a moment.";
  const text = error.message;
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

export const Loading = ({ what = "Loading" }: { what?: string }) => (
  <p role="status" className="p-6 text-center text-sm text-muted-foreground">
    {what}…
  </p>
);

/** A table that scrolls sideways on a phone instead of breaking the page. */
export const Table = ({ label, className, ...props }: { label: string } & ComponentProps<"table">) => (
  <div className="relative overflow-x-auto rounded-lg border bg-surface" tabIndex={0} role="region" aria-label={label}>
    <table
      className={cn(
        "w-full text-left text-sm [&_td]:border-t [&_td]:px-3 [&_td]:py-2 [&_th]:px-3 [&_th]:py-2 [&_th]:text-xs [&_th]:font-medium [&_th]:whitespace-nowrap [&_th]:text-muted-foreground",
        className,
      )}
      {...props}
    />
  </div>
);
