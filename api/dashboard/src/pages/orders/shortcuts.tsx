import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import { Keyboard } from "lucide-react";

import { openStatuses, statuses } from "@/domain/orders";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";

import { changeDeviceSettings, deviceSettings } from "./device";

const help: [string, string][] = [
  ["1 – 5", "Go to the first order of a column"],
  ["↓ or J, ↑ or K", "Go to the next or previous order of the column"],
  ["Enter", "Take the next step of the order"],
  ["O", "Open the order"],
  ["P", "Print the kitchen slip"],
  ["U", "Undo the last step"],
  ["N", "Create an order"],
  ["B", "Switch the big view on or off"],
  ["S", "Switch the sound on or off"],
  ["?", "Show these shortcuts"],
];

const cards = (section: Element | null | undefined) => [...(section?.querySelectorAll<HTMLElement>("article") ?? [])];
/** Focuses the next step of a card or, if it has none, its link. */
const focusIn = (card: HTMLElement | undefined) =>
  (card?.querySelector<HTMLElement>("[data-step]") ?? card?.querySelector("a"))?.focus();

/** Moves the focus by a number of cards within a column. */
function move(by: number) {
  const current = document.activeElement?.closest("article");
  if (!current) return focusIn(document.querySelector<HTMLElement>("section article") ?? undefined);
  const all = cards(current.closest("section"));
  focusIn(all[all.indexOf(current) + by]);
}

type Props = { undoLast: () => void; print: (orderId: string) => void };

/** The keyboard shortcuts of the board, with a button that lists them. */
export function Shortcuts({ undoLast, print }: Props) {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select, [role=dialog], [role=menu]")) return;
    const card = document.activeElement?.closest<HTMLElement>("article");
    const column = openStatuses[Number(event.key) - 1];
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(1),
      j: () => move(1),
      ArrowUp: () => move(-1),
      k: () => move(-1),
      o: () => card?.querySelector("a")?.click(),
      p: () => card?.dataset.order && print(card.dataset.order),
      u: undoLast,
      n: () => void navigate({ to: "/orders/new" }),
      b: () => changeDeviceSettings({ big: !deviceSettings().big }),
      s: () => document.querySelector<HTMLElement>("[data-sound]")?.click(),
      "?": () => setOpen(true),
    };
    const action = column
      ? () => focusIn(cards(document.querySelector(`section[aria-label="${statuses[column]}"]`))[0])
      : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => press(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return (
    <>
      <Button
        variant="outline"
        className="pointer-coarse:hidden"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => setOpen(true)}
      >
        <Keyboard aria-hidden />
      </Button>
      {open && (
        <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2 text-sm">
            {help.map(([keys, text]) => (
              <div key={keys} className="contents">
                <dt>
                  <kbd className="rounded border bg-muted px-1.5 py-0.5 text-xs">{keys}</kbd>
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
