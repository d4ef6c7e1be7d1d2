// Some operations require that the user gave a password within the last hour. The API client then asks for it here, and
// a dialog (pages/security/proof-dialog.tsx) answers.

type Asked = { answer: Promise<boolean>; settle: (proven: boolean) => void };

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function set(next: Asked | null) {
  asked = next;
  for (const listener of listeners) listener();
}

/**
 * Asks the user to prove the identity. Returns whether the user has done so. Concurrent calls share one question.
 * Without a dialog, the answer is no.
 */
export function askForProof(): Promise<boolean> {
  if (!asked && listeners.size > 0) {
    let settle: Asked["settle"] = () => {};
    const answer = new Promise<boolean>((resolve) => (settle = resolve));
    set({ answer, settle });
  }
  return asked?.answer ?? Promise.resolve(false);
}

/** Answers the question, if there is one. */
export function settleProof(proven: boolean) {
  asked?.settle(proven);
  if (asked) set(null);
}

export const isProofAsked = () => asked !== null;

/** Registers a dialog that shows the question. */
export function onProofAsked(listener: () => void) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) settleProof(false);
  };
}
