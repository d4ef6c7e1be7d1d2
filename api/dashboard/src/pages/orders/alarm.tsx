import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Bell, BellOff } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from "react";

import { queries } from "@/api/queries";
import { type Order, isScheduled } from "@/domain/orders";
import { Button } from "@/ui/button";
import { useNow } from "@/ui/now";
import { setTitleCount } from "@/ui/title";
import { useToast } from "@/ui/toast";

import { changeDeviceSettings, useDeviceSettings } from "./device";
import { useLiveOrders } from "./live";
import { notify } from "./notify";
import type { OrderEvent } from "./order-changes";
import { allowSound, onSoundChange, ring, soundAllowed } from "./sound";
import { useSteps } from "./steps";

const useSoundAllowed = () => useSyncExternalStore(onSoundChange, soundAllowed);

/** Returns the orders that wait for acceptance, without those for later. */
function useNewOrders(): Order[] | undefined {
  const orders = useQuery(queries.openOrders);
  const { steps } = useSteps();
  const now = useNow(30_000);
  return orders.data?.filter(
    (order) => order.status === "RECEIVED" && !steps.has(order.id) && !isScheduled(order, now),
  );
}

/** Rings, shows notifications and counts in the title of the page until no order waits for acceptance. */
export function NewOrderAlarm() {
  const { sound, volume, repeatSeconds } = useDeviceSettings();
  const allowed = useSoundAllowed();
  const orders = useNewOrders();
  const count = orders?.length ?? 0;
  useEffect(() => setTitleCount(count), [count]);

  const ringing = useOneTab(sound && allowed && count > 0);
  useEffect(() => (ringing ? ring("order", volume, repeatSeconds) : undefined), [ringing, volume, repeatSeconds]);

  // After a reload, the first click or key on the page allows the sound again.
  useEffect(() => {
    if (!sound || allowed) return;
    // The click on the button that allows the sound would turn it off if the sound were allowed before.
    const allow = ({ target }: Event) => {
      if (!(target instanceof Element && target.closest("[data-sound]"))) void allowSound();
    };
    addEventListener("pointerdown", allow);
    addEventListener("keydown", allow);
    return () => {
      removeEventListener("pointerdown", allow);
      removeEventListener("keydown", allow);
    };
  }, [sound, allowed]);

  useNotifications(orders);
  useReminders(ringing);
  return null;
}

/** Returns whether this tab is the one that does something that several tabs want to do. */
function useOneTab(wanted: boolean): boolean {
  const [chosen, setChosen] = useState(false);
  useEffect(() => {
    if (!wanted || !navigator.locks) return;
    const ended = new AbortController();
    const { signal } = ended;
    const hold = () => {
      setChosen(true);
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    // The request is aborted while another tab has the lock, which it keeps until its sound ends or it is closed.
    void navigator.locks.request("comanda.alarm", { signal }, hold).catch(() => {});
    return () => {
      ended.abort();
      setChosen(false);
    };
  }, [wanted]);
  return wanted && (chosen || !navigator.locks);
}

/**
 * Returns a function that shows a notification while the page is in the background, if the settings say so.
 * Notifications of several tabs with the same tag replace each other.
 */
function useAnnounce() {
  const { notify: wanted } = useDeviceSettings();
  const navigate = useNavigate();
  return (title: string, options: NotificationOptions) => {
    if (!wanted || !document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
    void notify(title, options, () => void navigate({ to: "/orders" }));
  };
}

/** Shows a notification for each new order while the page is in the background. */
function useNotifications(orders: Order[] | undefined) {
  const announce = useAnnounce();
  const seen = useRef<Set<string>>(undefined);
  const show = useEffectEvent((order: Order) => {
    const body = order.items.map(({ quantity, productName }) => `${quantity}× ${productName}`).join("\n");
    announce(`New order ${order.orderId}`, { body, tag: order.id });
  });
  useEffect(() => {
    if (!orders) return;
    const known = seen.current;
    seen.current = new Set([...(known ?? []), ...orders.map(({ id }) => id)]);
    if (!known) return; // these orders were there when the page was opened
    for (const order of orders) if (!known.has(order.id)) show(order);
  }, [orders]);
}

/** Announces reminders of orders that still wait for acceptance. The tab that rings plays another sound. */
function useReminders(ringing: boolean) {
  const { reminders } = useLiveOrders();
  const { volume } = useDeviceSettings();
  const toast = useToast();
  const announce = useAnnounce();
  const announced = useRef(0);
  const remind = useEffectEvent(({ id, orderId }: OrderEvent) => {
    const text = `Order ${orderId} still waits for acceptance`;
    toast(text, { error: true });
    announce(text, { tag: `${id} reminder` });
    if (ringing) ring("reminder", volume);
  });
  useEffect(() => {
    for (const reminder of reminders.slice(announced.current)) remind(reminder);
    announced.current = reminders.length;
  }, [reminders]);
}

/** Switches the sound of new orders on and off. */
export function SoundButton() {
  const { sound } = useDeviceSettings();
  const allowed = useSoundAllowed();
  const label = !sound ? "Turn on sound" : allowed ? "Turn off sound" : "Allow sound";
  return (
    <Button
      variant={sound && !allowed ? "primary" : "outline"}
      data-sound
      aria-label={label}
      title={label}
      onClick={() => {
        if (sound && allowed) {
          changeDeviceSettings({ sound: false });
          return;
        }
        changeDeviceSettings({ sound: true });
        void allowSound();
      }}
    >
      {sound && allowed ? <Bell aria-hidden /> : <BellOff aria-hidden />}
      {sound && !allowed && "Allow sound"}
    </Button>
  );
}
