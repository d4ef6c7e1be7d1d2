import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { PlaceOrderRequest } from "@/api/limits";
import { queries } from "@/api/queries";
import type { Conditions } from "@/domain/filters";
import { addDays, dayOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Checkbox, TextField } from "@/ui/field";

type Chosen = Conditions["channels"];
type Props = { chosen: Chosen; onChange: (chosen: Chosen) => void };

/** The permitted sales channels: those of recent orders, and others in words. None means all. */
export function Channels({ chosen, onChange }: Props) {
  const recent = useRecentChannels();
  const [shown, setShown] = useState<Chosen>([null, ...chosen.filter((channel) => channel !== null)]);
  const all = [...new Set([...shown, ...recent, ...chosen])];
  const choose = (channel: string | null, on: boolean) =>
    onChange(all.filter((one) => (one === channel ? on : chosen.includes(one))));
  const add = (channel: string) => {
    setShown([...shown, channel]);
    if (!chosen.includes(channel)) onChange([...chosen, channel]);
  };
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm">
        Channel {chosen.length === 0 && <span className="text-muted-foreground">(any)</span>}
      </legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {all.map((channel) => (
          <Checkbox
            key={JSON.stringify(channel)}
            className="min-w-0 break-words pointer-coarse:min-h-11 pointer-coarse:items-center"
            checked={chosen.includes(channel)}
            onChange={(event) => choose(channel, event.target.checked)}
            label={channel ?? "Own orders"}
          />
        ))}
      </div>
      <OtherChannel add={add} />
    </fieldset>
  );
}

/** A channel in words. While its text is not added to the conditions, the form is not sent. */
function OtherChannel({ add }: { add: (channel: string) => void }) {
  const [text, setText] = useState("");
  const given = text.trim();
  const submit = () => {
    if (given === "") return;
    add(given);
    setText("");
  };
  return (
    <div className="mt-2 flex flex-wrap items-end gap-2">
      <TextField
        label="Another channel"
        className="w-64 max-w-full"
        autoComplete="off"
        {...PlaceOrderRequest.channel}
        ref={(input) => input?.setCustomValidity(given ? "Add the channel, or clear the field" : "")}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
          event.preventDefault(); // does not send the form
          submit();
        }}
      />
      <Button variant="outline" disabled={given === ""} onClick={submit}>
        Add channel
      </Button>
    </div>
  );
}

/** The number of days whose orders have recent channels, and the maximum number of these channels. */
const [recentDays, maxRecent] = [28, 10];

/** Returns the channels of recent orders, those with most orders first. */
function useRecentChannels(): string[] {
  const { timezone } = useSession();
  const [range] = useState(() => {
    const today = dayOf(Date.now(), timezone);
    return { from: addDays(today, -recentDays), to: today };
  });
  const { data = [] } = useQuery(queries.analytics.channels(range));
  const orders = new Map<string, number>();
  for (const row of data)
    if (row.channel !== null) orders.set(row.channel, (orders.get(row.channel) ?? 0) + row.orders);
  return [...orders.keys()].sort((a, b) => orders.get(b)! - orders.get(a)!).slice(0, maxRecent);
}
