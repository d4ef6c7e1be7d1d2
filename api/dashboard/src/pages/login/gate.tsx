import type { ReactNode } from "react";

/** The frame of the pages that need no login. */
export const Gate = ({ title, children }: { title: string; children: ReactNode }) => (
  <main className="grid min-h-dvh place-items-center p-4">
    <div className="w-full max-w-sm rounded-lg border bg-surface p-6">
      <div className="mb-5 flex items-center gap-3">
        <img src="/dashboard/icon.svg" alt="" className="size-9" />
        <div>
          <p className="text-sm text-muted-foreground">Comanda</p>
          <h1 className="text-xl font-semibold">{title}</h1>
        </div>
      </div>
      {children}
    </div>
  </main>
);
