import { execFileSync } from "node:child_process";

import { expect, test } from "vitest";

import { curlOf } from "./curl";

test("curlOf keeps each byte of the body and the headers", () => {
  const body = `{"name":"Joe's $(rm) \`x\`","n":1.0,\n "é":"\\u00e9"}`;
  const command = curlOf({
    method: "POST",
    url: "https://example.com/hook?a='1'",
    headers: { Authorization: [], "X-Signature": ["t=1,v1=ab"], "Content-Length": ["5"], Host: ["example.com"] },
    body,
  });
  // The shell splits the command into the arguments that curl gets.
  const shell = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const got = execFileSync("sh", ["-c", shell], { encoding: "utf8" }).split("\0").slice(0, -1);
  expect(got).toEqual([
    "-X",
    "POST",
    "https://example.com/hook?a='1'",
    "-H",
    "Authorization: …",
    "-H",
    "X-Signature: t=1,v1=ab",
    "--data-binary",
    body,
  ]);
});
