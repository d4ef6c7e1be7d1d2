import { fileURLToPath } from "node:url";

import { build, type Rolldown } from "vite";
import { expect, test } from "vitest";

/** Returns the bundle of a program that imports the built package. */
async function bundle(program: string): Promise<string> {
  const result = await build({
    root: fileURLToPath(new URL("..", import.meta.url)),
    configFile: false,
    logLevel: "error",
    plugins: [
      {
        name: "program",
        resolveId: (id) => (id.endsWith("virtual-program.js") ? fileURLToPath(new URL(id, import.meta.url)) : null),
        load: (id) => (id.endsWith("virtual-program.js") ? program : null),
      },
    ],
    build: { write: false, minify: false, lib: { entry: "virtual-program.js", formats: ["es"], fileName: "program" } },
  });
  const [{ output }] = result as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput];
  return output[0].code;
}

test("a bundle has only the parts that a program uses", async () => {
  const whole = await bundle('export { createClient, paginate } from "@comanda/client"');
  expect(whole).toContain("Idempotency-Key");
  const webhooks = await bundle('export { verify } from "@comanda/client/webhooks"');
  expect(webhooks).toContain("webhook-signature");
  expect(webhooks).not.toContain("Idempotency-Key");
  const error = await bundle('export { ComandaError } from "@comanda/client"');
  expect(error).not.toContain("Idempotency-Key");
  expect(error.length).toBeLessThan(whole.length / 4);
});
