import type { components } from "@comanda/client";

import { SecretDialog } from "@/ui/dialog";
import { Time } from "@/ui/format";

type Props = { invitation: components["schemas"]["IssuedInvitation"]; title?: string; onClose: () => void };

/** Shows the link of an invitation once, or that it was mailed. */
export function InvitationDialog({ invitation: { email, link, mailed, expiresAt }, title, onClose }: Props) {
  return (
    <SecretDialog
      onClose={onClose}
      title={title ?? "Invitation created"}
      description={
        mailed
          ? `The link was sent to ${email}.`
          : link
            ? `Send this link to ${email}. Comanda does not send it.`
            : "The link was already shown once and cannot be shown again. Resend the invitation to get a new one."
      }
      secret={link}
      copyLabel="Copy link"
      testId="invitation"
    >
      <p className="text-sm text-muted-foreground">
        The link {link ? "is shown only once, " : ""}works once and expires at <Time at={expiresAt} />. A new invitation
        for the same address replaces it.
      </p>
    </SecretDialog>
  );
}
