import { useEffect } from "react";

/**
 * Closes a dialog with Escape while a message is shown over it: the key reaches that alone
 * then, as it would a dialog on top.
 */
export function useEscape(onClose: () => void) {
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) onClose();
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, [onClose]);
}
