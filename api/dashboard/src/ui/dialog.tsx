import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";

import { Button } from "./button";
import { cn } from "./cn";
import { CopyButton } from "./copy";
import { useEscape } from "./escape";
import { Form } from "./field";
import { Failure } from "./page";

const ignore = () => {};

const focusable = "a[href], button, input, select, textarea, [tabindex]";

/** Returns an element and its ancestors, from the inside to the outside. */
function withAncestors(element: Element | null): Element[] {
  const all = [];
  for (let one = element; one; one = one.parentElement) all.push(one);
  return all;
}

type Props = { onClose: () => void; title: ReactNode; description?: ReactNode; children?: ReactNode };

/** The base of Dialog and Sheet. Escape, a click outside and the close button close it. */
function Modal({
  onClose,
  title,
  description,
  explicit,
  className,
  children,
}: Props & { explicit?: boolean; className: string }) {
  const previousFocus = useRef<Element[]>([]);
  useEscape(explicit ? ignore : onClose);
  return (
    <Radix.Root open onOpenChange={(next) => next || onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          onOpenAutoFocus={() => {
            previousFocus.current = withAncestors(document.activeElement);
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // The action of the dialog may have removed its button from the page, but not the entry of the list.
            const previous = previousFocus.current.find((one) => one.isConnected && one.matches(focusable));
            const target = previous ?? document.getElementById("main");
            if (target instanceof HTMLElement) target.focus();
          }}
          onInteractOutside={(event) => explicit && event.preventDefault()}
          onEscapeKeyDown={(event) => explicit && event.preventDefault()}
          className={cn("fixed z-50 w-full overflow-y-auto bg-surface p-5 shadow-lg", className)}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <Radix.Title className="pr-10 text-lg font-semibold break-words">{title}</Radix.Title>
          {description && (
            <Radix.Description className="mt-1 text-sm text-muted-foreground">{description}</Radix.Description>
          )}
          <div className="mt-4 flex flex-col gap-4">{children}</div>
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

/** A dialog over the page. Only its buttons close an explicit dialog: neither Escape nor a click outside does. */
export const Dialog = ({ wide, ...props }: Props & { wide?: boolean; explicit?: boolean }) => (
  <Modal
    {...props}
    className={cn(
      "inset-x-0 bottom-0 mx-auto max-h-[92dvh] rounded-t-lg border",
      "sm:top-1/2 sm:bottom-auto sm:-translate-y-1/2 sm:rounded-lg",
      wide ? "sm:max-w-3xl" : "sm:max-w-lg",
    )}
  />
);

/** A dialog at the side of the page, for the details of a list entry. */
export const Sheet = (props: Props) => <Modal {...props} className="inset-y-0 right-0 max-w-2xl border-l" />;

/** The row of buttons at the end of a dialog. It stays visible while the content scrolls. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="sticky -bottom-5 z-10 -mx-5 -mb-5 flex flex-wrap justify-end gap-2 border-t bg-surface px-5 py-4">
    {children}
  </div>
);

type FormProps = Props & {
  /** The mutation that onSubmit starts; its state is shown in the dialog. */
  mutation: { isPending: boolean; error: unknown };
  onSubmit: (form: FormData) => void;
  submitLabel: string;
  cancelLabel?: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  explicit?: boolean;
  /** Applied to the form's grid. */
  className?: string;
};

/** A dialog with a form, or a confirmation if it has no fields. */
export const FormDialog = ({
  mutation,
  onSubmit,
  submitLabel,
  cancelLabel = "Cancel",
  danger,
  disabled,
  className,
  children,
  ...dialog
}: FormProps) => (
  <Dialog {...dialog}>
    <Form onSubmit={onSubmit} className="flex flex-col">
      <div className={cn("grid gap-4", className)}>
        {children}
        <Failure error={mutation.error} className="col-span-full" />
      </div>
      <DialogActions>
        <Button variant="outline" onClick={dialog.onClose}>
          {cancelLabel}
        </Button>
        <Button type="submit" variant={danger ? "danger" : "primary"} busy={mutation.isPending} disabled={disabled}>
          {submitLabel}
        </Button>
      </DialogActions>
    </Form>
  </Dialog>
);

type SecretDialogProps = Props & { secret?: string; copyLabel: string; testId: string };

/** An explicit dialog that shows a secret once. */
export const SecretDialog = ({ secret, copyLabel, testId, children, ...dialog }: SecretDialogProps) => (
  <Dialog {...dialog} explicit>
    {secret && <Secret text={secret} copyLabel={copyLabel} testId={testId} />}
    {children}
    <DialogActions>
      <Button onClick={dialog.onClose}>Done</Button>
    </DialogActions>
  </Dialog>
);

/** A secret with a copy button. */
export const Secret = ({ text, copyLabel, testId }: { text: string; copyLabel: string; testId: string }) => (
  <div className="flex flex-wrap items-center justify-end gap-3 rounded-md border bg-muted p-3">
    <code className="min-w-48 flex-1 text-sm break-all" data-testid={testId}>
      {text}
    </code>
    <CopyButton text={text} label={copyLabel} />
  </div>
);
