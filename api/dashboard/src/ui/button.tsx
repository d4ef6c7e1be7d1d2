import { type VariantProps, cva } from "class-variance-authority";
import { Slot } from "radix-ui";
import type { ComponentProps } from "react";

import { cn } from "./cn";

const variants = cva(
  [
    "inline-flex items-center justify-center gap-2 rounded-md text-sm font-medium whitespace-nowrap transition-colors",
    "disabled:pointer-events-none disabled:opacity-50 aria-disabled:pointer-events-none aria-disabled:opacity-50",
    "[&_svg]:size-4 [&_svg]:shrink-0 pointer-coarse:min-h-11 pointer-coarse:min-w-11",
  ],
  {
    variants: {
      variant: {
        primary: "bg-primary text-primary-foreground hover:brightness-90",
        outline: "border bg-surface hover:bg-muted",
        ghost: "hover:bg-muted",
        danger: "border border-danger text-danger hover:bg-danger hover:text-background",
        link: "text-primary underline-offset-4 hover:underline",
      },
      size: { normal: "h-9 px-4", small: "h-8 px-3", icon: "size-9" },
    },
    defaultVariants: { variant: "primary", size: "normal" },
  },
);

type Props = ComponentProps<"button"> & VariantProps<typeof variants> & { asChild?: boolean; busy?: boolean };

/** A button. While busy it ignores clicks but keeps the focus, which a disabled button would lose. */
export function Button({ className, variant, size, asChild, busy, onClick, type = "button", ...props }: Props) {
  const Component = asChild ? Slot.Root : "button";
  return (
    <Component
      {...(asChild ? {} : { type })}
      className={cn(variants({ variant, size }), className)}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      {...props}
    />
  );
}
