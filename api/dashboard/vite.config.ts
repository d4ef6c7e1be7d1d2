import { fileURLToPath } from "node:url";

import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

// The built files are committed and embedded in the Go binary, so their names must depend on
// their content only, not on the machine.
export default defineConfig({
  base: "/dashboard/",
  plugins: [react(), tailwind()],
  resolve: {
    // The sources of the client are part of the build, and use the packages of the dashboard.
    alias: { "@": path("./src"), "@comanda/client": path("../client/typescript/src/index.ts") },
    dedupe: ["openapi-fetch"],
  },
  server: { fs: { allow: [".", "../client/typescript/src"] } },
  html: { cspNonce: "{{nonce}}" },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  test: {
    setupFiles: ["temporal-polyfill/global"],
    testTimeout: 60_000, // on a busy machine
    // A document takes longer than most tests. Tests of components have one; a comment adds it to other files.
    projects: [
      { extends: true, test: { name: "rules", include: ["src/**/*.test.ts"], environment: "node" } },
      {
        extends: true,
        test: {
          name: "components",
          include: ["src/**/*.test.tsx"],
          environment: "jsdom",
          setupFiles: ["src/components.setup.ts"],
        },
      },
    ],
  },
});
