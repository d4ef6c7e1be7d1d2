import { type ComponentProps, type ReactNode, useId } from "react";

import { cn } from "./cn";

const control = cn(
  "w-full rounded-md border bg-surface px-3 text-sm text-foreground placeholder:text-muted-foreground",
  "pointer-coarse:min-h-11",
  "disabled:opacity-60 aria-invalid:border-danger",
);

type FormProps = { onSubmit: (form: FormData) => void; className?: string; children: ReactNode };

/** A form that passes its data to onSubmit instead of navigating. */
export const Form = ({ onSubmit, className, children }: FormProps) => (
  <form
    className={cn("grid gap-4", className)}
    onSubmit={(event) => {
      event.preventDefault();
      event.stopPropagation(); // for React, a dialog is within the form that opens it
      onSubmit(new FormData(event.currentTarget));
    }}
  >
    {children}
  </form>
);

type FieldProps = { label: ReactNode; hint?: ReactNode; error?: string; className?: string };

/** A form control with its label and its hint or error message. */
export function Field({
  label,
  hint,
  error,
  className,
  children,
}: FieldProps & {
  children: (props: { id: string; "aria-invalid"?: true; "aria-describedby"?: string }) => ReactNode;
}) {
  const id = useId();
  const describedBy = error || hint ? `${id}-description` : undefined;
  return (
    <div className={cn("grid content-start gap-1.5", className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, "aria-invalid": error ? true : undefined, "aria-describedby": describedBy })}
      {describedBy && (
        <p id={describedBy} className={cn("text-xs", error ? "text-danger" : "text-muted-foreground")}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

export const Input = ({ className, ...props }: ComponentProps<"input">) => (
  <input className={cn(control, "h-9", className)} {...props} />
);

export const Textarea = ({ className, ...props }: ComponentProps<"textarea">) => (
  <textarea className={cn(control, "min-h-20 py-2", className)} {...props} />
);

/** The browser's native select, for its support of keyboards, screen readers and phones. */
export const Select = ({ className, ...props }: ComponentProps<"select">) => (
  <select className={cn(control, "h-9", className)} {...props} />
);

export function TextField({ label, hint, error, className, ...props }: FieldProps & ComponentProps<"input">) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(ids) => <Input {...ids} {...props} />}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  error,
  className,
  children,
  ...props
}: FieldProps & ComponentProps<"select">) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(ids) => (
        <Select {...ids} {...props}>
          {children}
        </Select>
      )}
    </Field>
  );
}

export function Checkbox({ label, className, ...props }: { label: ReactNode } & ComponentProps<"input">) {
  return (
    <label className={cn("flex items-start gap-2 text-sm", className)}>
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-primary" {...props} />
      <span>{label}</span>
    </label>
  );
}
