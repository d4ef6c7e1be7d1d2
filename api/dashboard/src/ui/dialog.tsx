import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";

import { Button } from "./button";
import { cn } from "./cn";
import { CopyButton } from "./copy";
import { useEscape } from "./escape";
import { Form } from "./field";
import { Failure } from "./page";

type Props = { onClose: () => void; title: ReactNode; description?: ReactNode; children?: ReactNode };

/** What lies over the page until it is closed: by Escape, by a click beside it, or by its button. */
function Modal({ onClose, title, description, stays, className, children }: Props & { stays?: boolean; className: string }) {
  const before = useRef<Element | null>(null); // what had the focus, and gets it back
  useEscape(onClose);
  return (
    <Radix.Root open onOpenChange={(next) => next || onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (before.current instanceof HTMLElement) before.current.focus();
          }}
          onInteractOutside={(event) => stays && event.preventDefault()}
          className={cn("fixed z-50 w-full overflow-y-auto bg-surface p-5 shadow-lg", className)}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <Radix.Title className="pr-10 text-lg font-semibold break-words">{title}</Radix.Title>
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

/** A dialog over the page. One that stays is not closed by a click beside it. */
export const Dialog = ({ wide, ...props }: Props & { wide?: boolean; stays?: boolean }) => (
  <Modal
    {...props}
    className={cn(
      "inset-x-0 bottom-0 mx-auto max-h-[92dvh] rounded-t-lg border sm:top-1/2 sm:bottom-auto sm:-translate-y-1/2 sm:rounded-lg",
      wide ? "sm:max-w-3xl" : "sm:max-w-lg",
    )}
  />
);

/** A dialog at the side of the page, for what is looked at beside a list. */
export const Sheet = (props: Props) => <Modal {...props} className="inset-y-0 right-0 max-w-2xl border-l" />;

/** Where the buttons of a dialog are. */
export const DialogActions = ({ children }: { children: ReactNode }) => <div className="flex flex-wrap justify-end gap-2 border-t pt-4">{children}</div>;

type FormProps = Props & {
  /** What is done with what was entered: usually a mutation. */
  doing: { isPending: boolean; error: unknown };
  onSubmit: (form: FormData) => void;
  /** What the button says that does it, and the one that does not. */
  deed: string;
  keep?: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  /** Of the form's grid. */
  className?: string;
};

/** A dialog that asks for something, or whether it is meant, and then does it. */
export const FormDialog = ({ doing, onSubmit, deed, keep = "Cancel", danger, disabled, className, children, ...dialog }: FormProps) => (
  <Dialog {...dialog}>
    <Form onSubmit={onSubmit} className={className}>
      {children}
      <Failure error={doing.error} className="col-span-full" />
      <div className="col-span-full">
        <DialogActions>
          <Button variant="outline" onClick={dialog.onClose}>
            {keep}
          </Button>
          <Button type="submit" variant={danger ? "danger" : "primary"} busy={doing.isPending} disabled={disabled}>
            {deed}
          </Button>
        </DialogActions>
      </div>
    </Form>
  </Dialog>
);

type ShownProps = Props & { secret?: string; copy: string; testId: string };

/** A dialog that shows a secret, this once: a click beside it does not close it. */
export const Shown = ({ secret, copy, testId, children, ...dialog }: ShownProps) => (
  <Dialog {...dialog} stays>
    {secret && <Secret text={secret} copy={copy} testId={testId} />}
    {children}
    <DialogActions>
      <Button onClick={dialog.onClose}>Done</Button>
    </DialogActions>
  </Dialog>
);

/** A secret, to be copied. */
export const Secret = ({ text, copy, testId }: { text: string; copy: string; testId: string }) => (
  <div className="flex flex-wrap items-center justify-end gap-3 rounded-md border bg-muted p-3">
    <code className="min-w-48 flex-1 text-sm break-all" data-testid={testId}>
      {text}
    </code>
    <CopyButton text={text} label={copy} />
  </div>
);
