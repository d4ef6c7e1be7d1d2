import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleDashed } from "lucide-react";

import { api, data, ifMatch } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { link } from "@/ui/link";
import { Card, Failure } from "@/ui/page";
import { useErrorToast } from "@/ui/toast";

import { confirmNoTax, useNoTax } from "./confirmed";
import { type Step, alwaysOpen, stepsOf } from "./setup";

/** Returns the steps that set up the active store, and the query that loads them. For an ADMIN or an OWNER. */
export function useSetup(enabled: boolean) {
  const { atLeast, store, storeId } = useSession();
  const parts = useQuery({ ...queries.setup(storeId, atLeast("OWNER")), enabled });
  const views = store?.storeViews.length ?? 0;
  const noTax = useNoTax(storeId);
  const steps = parts.data && stepsOf({ ...parts.data, views, noTax });
  return { parts, steps, complete: steps?.every(({ done }) => done) };
}

/** The steps that set up the active store. It disappears when all of them are done. */
export function SetupCard({ setup: { parts, steps, complete } }: { setup: ReturnType<typeof useSetup> }) {
  if (parts.error)
    return (
      <Card title="Set-up">
        <p className="mb-3 text-sm text-muted-foreground">The steps of the set-up could not be loaded.</p>
        <Failure error={parts.error} retry={() => void parts.refetch()} />
      </Card>
    );
  if (!parts.data || !steps || complete) return null;
  const done = steps.filter((step) => step.done).length;
  return (
    <Card
      title="Set-up"
      actions={<span className="text-sm text-muted-foreground">{`${done} of ${steps.length} done`}</span>}
    >
      <p className="mb-3 max-w-prose text-sm text-muted-foreground">
        These steps make the store ready for its first order. A step is done when its data exists, and the list
        disappears when all steps are done.
      </p>
      <ol aria-label="Set-up" className="grid gap-3">
        {steps.map((step) => (
          <StepRow key={step.title} step={step} version={parts.data.settingsVersion} />
        ))}
      </ol>
    </Card>
  );
}

function StepRow({ step: { title, about, done, label, to, confirm }, version }: { step: Step; version: number }) {
  return (
    <li className="flex items-start gap-3 text-sm">
      {done ? (
        <CircleCheck className="mt-0.5 size-4 shrink-0 text-success" aria-hidden />
      ) : (
        <CircleDashed className="mt-0.5 size-4 shrink-0 text-muted-foreground" aria-hidden />
      )}
      <div className="min-w-0">
        <p className={done ? "text-muted-foreground" : "font-medium"}>
          {title}
          <span className="sr-only">{done ? " (done)" : " (open)"}</span>
        </p>
        {!done && (
          <>
            <p className="text-muted-foreground">{about}</p>
            <p className="flex flex-wrap items-center gap-x-4">
              <Link to={to} className={link}>
                {label}
              </Link>
              {confirm && <Confirm {...confirm} version={version} />}
            </p>
          </>
        )}
      </div>
    </li>
  );
}

/** Confirms that an empty value is intended. A store that is always open gets hours around the clock. */
function Confirm({ of, label, note, version }: NonNullable<Step["confirm"]> & { version: number }) {
  const { storeId } = useSession();
  const invalidate = useInvalidate();
  const showError = useErrorToast();
  const open = useMutation({
    mutationFn: () =>
      data(
        api.PATCH("/settings", {
          body: { openingHours: alwaysOpen },
          params: { header: ifMatch({ version }) },
        }),
      ),
    onError: showError,
    onSettled: () => invalidate("settings"),
  });
  return (
    <>
      <Button
        variant="link"
        size="small"
        className="px-0"
        busy={open.isPending}
        onClick={() => (of === "hours" ? open.mutate() : confirmNoTax(storeId))}
      >
        {label}
      </Button>
      {note && <span className="text-xs text-muted-foreground">{note}</span>}
    </>
  );
}
