import { ComandaError } from "@comanda/client";
import { Link } from "@tanstack/react-router";
import { type ReactNode, Suspense, lazy, useState } from "react";
import { useQuery } from "@tanstack/react-query";

import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Dialog, DialogActions } from "@/ui/dialog";
import { formatMs } from "@/ui/duration";
import { Time } from "@/ui/format";
import { useNow } from "@/ui/now";
import { Card, Empty, Failure, Loading, PageHeader } from "@/ui/page";
import { useToast, useErrorToast } from "@/ui/toast";
import { queries } from "@/api/queries";
import { type Webhook, orderings, spans } from "@/domain/webhooks";
import { inlineLink } from "@/ui/link";

import { AttemptSheet } from "./attempt";
import { Attempts } from "./attempts";
import { DeleteDialog, RotateDialog, TurnOffDialog, useChange } from "./change";
import { EditDialog } from "./edit";
import { failingDay, healthOf } from "./health";
import { Queued } from "./queued";
import { ReplayDialog, Replays } from "./replay";
import { useWebhookSearch } from "./use-webhook-search";
import { Snippets } from "./snippets";
import { HealthBadge } from "./status";
import { TestResult, useTest } from "./ping";

const Plots = lazy(() => import("./plots").then((module) => ({ default: module.Plots })));

type Open = "test" | "replay" | "edit" | "rotate" | "off" | "delete" | null;

/** The page of a webhook: health, statistics, attempts and settings. */
export function WebhookPage() {
  const {
    id,
    search: { attempt },
    show,
  } = useWebhookSearch();
  const webhook = useQuery(queries.webhooks.one(id));
  const all = useQuery(queries.webhooks.all);
  const catalogue = useQuery(queries.eventTypes);
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const shown = webhook.data;
  if (webhook.error instanceof ComandaError && webhook.error.status === 404) {
    return (
      <Empty title="Webhook not found">
        <p>It was deleted or belongs to another store.</p>
        <Link to="/webhooks" className={inlineLink}>
          Show all webhooks
        </Link>
      </Empty>
    );
  }
  if (!shown)
    return webhook.error ? <Failure error={webhook.error} retry={() => void webhook.refetch()} /> : <Loading />;
  const eventTypes = (catalogue.data ?? []).map((type) => type.name);
  return (
    <div className="grid gap-5 [&>*]:min-w-0">
      <div className="-mb-5">
        <Link to="/webhooks" className="text-sm text-muted-foreground hover:text-foreground">
          ← Webhooks
        </Link>
        <PageHeader
          title={<span className="break-all">{shown.url}</span>}
          about={shown.description || undefined}
          actions={
            <>
              <Button onClick={() => setOpen("test")}>Send test</Button>
              <Button variant="outline" onClick={() => setOpen("replay")}>
                Replay…
              </Button>
              <Button variant="outline" onClick={() => setOpen("edit")}>
                Edit
              </Button>
            </>
          }
        />
      </div>
      <Failure error={webhook.error} retry={() => void webhook.refetch()} />
      <WebhookAlert webhook={shown} days={all.data?.meta.watchdogDays ?? 0} />
      <Numbers webhook={shown} days={all.data?.meta.watchdogDays ?? 0} />
      <Replays webhookId={id} />
      <Queued webhookId={id} />
      <Attempts eventTypes={eventTypes} onTest={() => setOpen("test")} />
      <Details webhook={shown} onOpen={setOpen} />
      <Snippets url={shown.url} />
      {attempt && <AttemptSheet webhookId={id} id={attempt} onClose={() => show({ attempt: undefined })} />}
      {open === "test" && <TestDialog webhook={shown} onClose={close} />}
      {open === "replay" && <ReplayDialog webhooks={all.data?.data ?? [shown]} webhookId={id} onClose={close} />}
      {open === "edit" && <EditDialog webhook={shown} onClose={close} />}
      {open === "rotate" && <RotateDialog webhook={shown} onClose={close} />}
      {open === "off" && <TurnOffDialog webhook={shown} onClose={close} />}
      {open === "delete" && <DeleteDialog webhook={shown} onClose={close} />}
    </div>
  );
}

/** An alert if the webhook is turned off or failing. */
function WebhookAlert({ webhook, days }: { webhook: Webhook; days: number }) {
  const toast = useToast();
  const showError = useErrorToast();
  const change = useChange(webhook);
  if (!webhook.isActive) {
    return (
      <div
        role="alert"
        className="flex flex-wrap items-center justify-between gap-3 rounded-md border border-warning/50 p-3 text-sm"
      >
        <p>
          This webhook is turned off. New events are not delivered to it.
          {webhook.failureCount === 1 && " Its last attempt failed. Fix the receiver first."}
          {webhook.failureCount > 1 &&
            ` Its last ${webhook.failureCount.toLocaleString()} attempts failed. Fix the receiver first.`}
        </p>
        <Button
          size="small"
          busy={change.isPending}
          onClick={() =>
            change.mutate(
              { isActive: true },
              {
                onSuccess: () => toast("Webhook turned on"),
                onError: showError,
              },
            )
          }
        >
          Turn on
        </Button>
      </div>
    );
  }
  if (webhook.failureCount === 0 || !webhook.failingSince) return null;
  return (
    <div role="alert" className="rounded-md border border-warning/50 p-3 text-sm">
      The receiver has been failing since <Time at={webhook.failingSince} />.
      {days > 0 &&
        ` After ${days} days with failures and no success, Comanda turns the webhook off. ` +
          `This is day ${failingDay(webhook, days)} of ${days}.`}
    </div>
  );
}

function Numbers({ webhook, days }: { webhook: Webhook; days: number }) {
  const { search, show } = useWebhookSearch();
  const { span = "24h" } = search;
  const stats = useQuery(queries.webhooks.stats(webhook.id, span));
  const totals = stats.data?.totals;
  return (
    <Card
      title="Deliveries"
      actions={
        <Choice
          label="Time span"
          value={span}
          options={spans}
          onChange={(next) => show({ span: next === "24h" ? undefined : next }, { replace: true })}
        />
      }
    >
      <dl className="mb-5 grid grid-cols-2 gap-4 sm:grid-cols-4 lg:grid-cols-7">
        <Figure name="Health">
          <HealthBadge health={healthOf(webhook, days)} />
        </Figure>
        <Figure name="Delivered">{totals?.delivered.toLocaleString()}</Figure>
        <Figure name="Failed attempts">{totals?.failed.toLocaleString()}</Figure>
        <Figure name="Dead letters">{totals?.deadLetter.toLocaleString()}</Figure>
        <Figure name="Retrying now">{stats.data?.retryingNow.toLocaleString()}</Figure>
        <Figure name="Response p50">{totals && formatMs(totals.p50Ms)}</Figure>
        <Figure name="Response p99">{totals && formatMs(totals.p99Ms)}</Figure>
      </dl>
      <Failure error={stats.error} retry={() => void stats.refetch()} />
      <div className="min-h-56">
        {stats.data && (
          <Suspense fallback={<Loading />}>
            <Plots stats={stats.data} onChoose={(from, to) => show({ from, to, page: undefined }, { replace: true })} />
          </Suspense>
        )}
      </div>
    </Card>
  );
}

const Figure = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="grid content-start gap-1">
    <dt className="text-xs text-muted-foreground">{name}</dt>
    <dd className="text-lg font-semibold tabular-nums">{children ?? "…"}</dd>
  </div>
);

function Details({ webhook, onOpen }: { webhook: Webhook; onOpen: (open: Open) => void }) {
  const now = useNow(60_000);
  return (
    <Card title="Settings">
      <dl className="grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[auto_1fr] [&_dt]:text-muted-foreground">
        <dt>Events</dt>
        <dd className="flex flex-wrap gap-1.5">
          {webhook.events.map((name) => (
            <code key={name} className="rounded bg-muted px-1.5 py-0.5 text-xs">
              {name}
            </code>
          ))}
        </dd>
        <dt>Filter</dt>
        <dd className="grid gap-1">
          {webhook.filter === null ? "none" : <code className="text-xs break-words">{webhook.filter}</code>}
          {webhook.filterError && (
            <span className="text-danger">
              It could not be evaluated for {webhook.filterError.eventId}, which was therefore delivered:{" "}
              {webhook.filterError.message} (<Time at={webhook.filterError.at} />)
            </span>
          )}
        </dd>
        <dt>Order of deliveries</dt>
        <dd>{orderings[webhook.ordering].label}</dd>
        <dt>Headers</dt>
        <dd className="flex flex-wrap gap-1.5">
          {webhook.headerNames.length === 0 && "none"}
          {webhook.headerNames.map((name) => (
            <code key={name} className="rounded bg-muted px-1.5 py-0.5 text-xs">
              {name}
            </code>
          ))}
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={webhook.createdAt} />
        </dd>
        <dt>Last changed</dt>
        <dd>
          <Time at={webhook.updatedAt} />
        </dd>
        <dt>Last delivery</dt>
        <dd>
          <Time at={webhook.lastDeliveryAt} />
        </dd>
        {webhook.previousSecretExpiresAt && Date.parse(webhook.previousSecretExpiresAt) > now && (
          <>
            <dt>Old secret</dt>
            <dd>
              valid until <Time at={webhook.previousSecretExpiresAt} />
            </dd>
          </>
        )}
        <dt>ID</dt>
        <dd>
          <code className="text-xs break-all">{webhook.id}</code>
        </dd>
      </dl>
      <div className="mt-4 flex flex-wrap gap-2 border-t pt-4">
        <Button variant="outline" size="small" onClick={() => onOpen("rotate")}>
          Rotate secret
        </Button>
        {webhook.isActive && (
          <Button variant="outline" size="small" onClick={() => onOpen("off")}>
            Turn off
          </Button>
        )}
        <Button variant="danger" size="small" onClick={() => onOpen("delete")}>
          Delete
        </Button>
      </div>
    </Card>
  );
}

function TestDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const test = useTest(webhook.id);
  const { show } = useWebhookSearch();
  return (
    <Dialog
      onClose={onClose}
      title="Send test"
      description="Sends one signed test.ping event, without retries. It does not count toward the plan's limit."
    >
      <p className="text-sm break-all text-muted-foreground">To {webhook.url}</p>
      <TestResult test={test} />
      <DialogActions>
        {test.data && (
          <Button
            variant="outline"
            onClick={() => {
              show({
                eventId: test.data.eventId,
                status: undefined,
                eventType: undefined,
                from: undefined,
                to: undefined,
                page: undefined,
              });
              onClose();
            }}
          >
            Show attempt
          </Button>
        )}
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {test.data ? "Send again" : "Send"}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
