import { getRouteApi } from "@tanstack/react-router";

import { useAccount } from "@/session/account";
import { PageHeader } from "@/ui/page";

import { OtpCard } from "./otp";
import { PasswordCard } from "./password";
import { SessionsCard } from "./sessions";

const route = getRouteApi("/inside/security");

/** The security settings of the logged-in user. */
export function SecurityPage() {
  const { required } = route.useSearch();
  const { user, store } = useAccount();
  return (
    <>
      <PageHeader title="Security" about="Your own login. The settings apply to all stores that you work in." />
      {required && !user.otpEnabled && (
        <p role="status" className="mb-5 rounded-md border border-warning/40 p-3 text-sm">
          {store ? "This store" : "The platform console"} requires a second factor. Set it up below to continue.
        </p>
      )}
      <div className="grid gap-5 [&>*]:min-w-0">
        <PasswordCard />
        <OtpCard />
        <SessionsCard />
      </div>
    </>
  );
}
