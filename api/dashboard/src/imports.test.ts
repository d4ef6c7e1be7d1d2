import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import ts from "typescript";
import { expect, test } from "vitest";

const root = import.meta.dirname;
const options = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, "../tsconfig.json"), ts.sys.readFile).config,
  ts.sys,
  join(root, ".."),
).options;

/** The source files that a file imports, except types. */
function importsOf(file: string) {
  return ts
    .preProcessFile(ts.transpile(readFileSync(file, "utf8"), { ...options, jsx: ts.JsxEmit.ReactJSX }))
    .importedFiles.map(({ fileName }) => ts.resolveModuleName(fileName, file, options, ts.sys).resolvedModule)
    .filter((module) => module && !module.isExternalLibraryImport)
    .map((module) => resolve(dirname(file), module!.resolvedFileName));
}

// A cycle makes the order of initialization depend on the entry point, and no file of it can be read alone.
test("imports form no cycle", { timeout: 60_000 }, () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      const cycle = [...path.slice(path.indexOf(file)), file];
      expect.fail(cycle.map((name) => relative(root, name)).join(" -> "));
    }
    if (done.has(file)) return;
    for (const imported of importsOf(file)) visit(imported, [...path, file]);
    done.add(file);
  };
  visit(join(root, "main.tsx"), []);
  expect(done.size).toBeGreaterThan(50);
});
