import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";

import { Button } from "./button";
import { cn } from "./cn";
import { useEscape } from "./escape";
import { useFocusReturn } from "./focus";

type Props = {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  wide?: boolean;
  children: ReactNode;
};

/** A dialog over the page. Escape and a click beside it close it. */
export function Dialog({ open, onClose, title, description, wide, children }: Props) {
  const focus = useFocusReturn();
  useEscape(onClose);
  return (
    <Radix.Root open={open} onOpenChange={(next) => next || onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          {...focus}
          className={cn(
            "fixed inset-x-0 bottom-0 z-50 mx-auto max-h-[92dvh] w-full overflow-y-auto rounded-t-lg border bg-surface p-5 shadow-lg sm:top-1/2 sm:bottom-auto sm:-translate-y-1/2 sm:rounded-lg",
            wide ? "sm:max-w-3xl" : "sm:max-w-lg",
          )}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <Radix.Title className="pr-8 text-lg font-semibold">{title}</Radix.Title>
          {description && <Radix.Description className="mt-1 text-sm text-muted-foreground">{description}</Radix.Description>}
          <div className="mt-4 grid gap-4">{children}</div>
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

/** Where the buttons of a dialog are. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="flex flex-wrap justify-end gap-2 border-t pt-4">{children}</div>
);
