import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronDown, CirclePause, CirclePlay } from "lucide-react";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { Button } from "@/ui/button";
import { ShortTime } from "@/ui/format";
import { Menu, MenuItem } from "@/ui/menu";
import { useErrorToast } from "@/ui/toast";

/** The interval in milliseconds at which other devices notice a pause. */
const refetchInterval = 30_000;

/** The minutes of a pause that starts with one click. */
const oneClick = 30;

const lengths: [string, number][] = [
  ["15 minutes", 15],
  ["30 minutes", 30],
  ["1 hour", 60],
  ["2 hours", 120],
  ["4 hours", 240],
];

/** Returns the end of the pause of ordering, if there is one, and the mutation that pauses (minutes) or resumes (0). */
function usePause() {
  const client = useQueryClient();
  const showError = useErrorToast();
  const store = useQuery({ ...queries.store, refetchInterval });
  const change = useMutation({
    mutationFn: (minutes: number) =>
      data(
        minutes > 0
          ? api.POST("/store/pause", { body: { until: new Date(Date.now() + minutes * 60_000).toISOString() } })
          : api.POST("/store/resume"),
      ),
    onSuccess: (changed) => client.setQueryData(queries.store.queryKey, changed),
    onError: showError,
  });
  return { until: store.data?.orderingPausedUntil, change };
}

/** Pauses ordering with one click. */
export function PauseButton() {
  const { until, change } = usePause();
  if (until) return null;
  const label = `Pause ordering for ${oneClick} minutes`;
  return (
    <Button
      variant="outline"
      aria-label={label}
      title={label}
      busy={change.isPending}
      onClick={() => change.mutate(oneClick)}
    >
      <CirclePause aria-hidden /> Pause
    </Button>
  );
}

/** Says on each page that ordering is paused, and resumes it with one click. */
export function PauseBanner() {
  const { until, change } = usePause();
  if (!until) return null;
  return (
    <div
      role="status"
      className="mb-4 flex flex-wrap items-center gap-2 rounded-md border border-warning/60 bg-surface p-3 text-sm"
    >
      <CirclePause className="size-4 shrink-0 text-warning" aria-hidden />
      <p className="min-w-60 flex-1">
        <strong>Ordering is paused</strong> until <ShortTime at={until} />. Shops and integrations cannot place orders
        for now; your team can.
      </p>
      <Menu
        label="Pause from now for"
        trigger={
          <Button variant="outline" busy={change.isPending}>
            Change <ChevronDown aria-hidden />
          </Button>
        }
      >
        {lengths.map(([label, minutes]) => (
          <MenuItem key={minutes} onSelect={() => change.mutate(minutes)}>
            {label} from now
          </MenuItem>
        ))}
      </Menu>
      <Button busy={change.isPending} onClick={() => change.mutate(0)}>
        <CirclePlay aria-hidden /> Resume
      </Button>
    </div>
  );
}
