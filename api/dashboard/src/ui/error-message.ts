import { errorMessage } from "@/api/error-message";
import { useClock } from "@/session/account";

/** Returns errorMessage for the user's locale and time zone. */
export function useErrorMessage() {
  const clock = useClock();
  return (error: unknown) => errorMessage(error, clock);
}
