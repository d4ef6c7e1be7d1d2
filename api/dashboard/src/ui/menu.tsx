import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";

import { cn } from "./cn";

type Props = { trigger: ReactNode; label?: string; onOpen?: () => void; children: ReactNode };

/** A menu of actions. Arrow keys move between the actions; Enter, Space or a click starts one. */
export const Menu = ({ trigger, label, onOpen, children }: Props) => (
  <DropdownMenu.Root modal={false} onOpenChange={(open) => open && onOpen?.()}>
    <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
    <DropdownMenu.Portal>
      <DropdownMenu.Content
        align="end"
        sideOffset={4}
        aria-label={label}
        className="z-50 max-h-96 min-w-40 overflow-y-auto rounded-md border bg-surface p-1 shadow-lg"
      >
        {children}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  </DropdownMenu.Root>
);

export const MenuItem = ({ className, ...props }: ComponentProps<typeof DropdownMenu.Item>) => (
  <DropdownMenu.Item
    className={cn(
      "flex min-h-9 cursor-default items-center gap-2 rounded px-3 text-sm outline-none pointer-coarse:min-h-11",
      "data-[highlighted]:bg-muted data-[disabled]:opacity-50",
      className,
    )}
    {...props}
  />
);
