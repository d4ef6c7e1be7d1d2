import { render } from "@testing-library/react";
import { expect, test } from "vitest";

import { CodeBlock, pretty } from "./text";

test("pretty indents JSON without changing its tokens", () => {
  expect(pretty('{"a":[1,{"b":"x, {y}: \\"z\\""}],"n":12345678901234567890,"e":[],"o":{},"t":true}')).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": "x, {y}: \\"z\\""\n    }\n  ],\n' +
      '  "n": 12345678901234567890,\n  "e": [],\n  "o": {},\n  "t": true\n}',
  );
  expect(pretty('"a"')).toBe('"a"');
});

test.each(["", "{", "{'a':1}", "<p>no</p>", "a,b:c"])("pretty leaves %j unchanged", (text) =>
  expect(pretty(text)).toBe(text),
);

test("CodeBlock renders HTML as text", () => {
  const hostile = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
  const { container } = render(<CodeBlock text={hostile} label="Body" />);
  expect(container.querySelector("pre")!.textContent).toBe(hostile);
  expect(container.querySelectorAll("img, script")).toHaveLength(0);
});
