import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";

import { Button } from "./button";
import { useEscape } from "./escape";
import { useFocusReturn } from "./focus";

/** A dialog at the side of the page, for what is looked at beside a list. Escape and a click beside it close it. */
export function Sheet({ onClose, title, children }: { onClose: () => void; title: ReactNode; children: ReactNode }) {
  const focus = useFocusReturn();
  useEscape(onClose);
  return (
    <Radix.Root open onOpenChange={(next) => next || onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          {...focus}
          className="fixed inset-y-0 right-0 z-50 w-full max-w-2xl overflow-y-auto border-l bg-surface p-5 shadow-lg"
          aria-describedby={undefined}
        >
          <Radix.Title className="pr-10 text-lg font-semibold">{title}</Radix.Title>
          <div className="mt-4 grid gap-5">{children}</div>
          <Radix.Close asChild>
            <Button variant="ghost" size="icon" className="absolute top-3 right-3" aria-label="Close">
              <X />
            </Button>
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
