import { useEffect } from "react";

/**
 * Calls onClose when Escape is pressed. Radix sends Escape only to the topmost layer, which is a
 * toast while one is shown, so a dialog below it would stay open.
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
