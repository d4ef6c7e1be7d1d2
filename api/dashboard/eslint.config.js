import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/**
 * The layers. A layer may import the layers before it. Files outside the layers (router, layout, main) may import all
 * of them. `domain` has the words and rules of a restaurant, without React and without requests. `ui` has the controls
 * that any dashboard needs; `components` has the parts of pages that several pages share.
 */
const layers = ["domain", "api", "session", "ui", "components", "pages"];

export default tseslint.config(
  { ignores: ["dist", "src/api/limits.ts", "src/domain/currencies.ts"] },
  js.configs.recommended,
  tseslint.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [reactHooks.configs.flat.recommended, jsxA11y.flatConfigs.recommended],
    rules: {
      // A scrollable region must be focusable, otherwise the keyboard cannot scroll it.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: ["pre"], roles: ["region"] }],
      // The rule recognizes native controls only.
      "jsx-a11y/label-has-associated-control": ["error", { controlComponents: ["Select", "Filter"] }],
      // The login page contains nothing but its form, so the focus belongs to the first field.
      "jsx-a11y/no-autofocus": ["error", { ignoreNonDOM: true }],
    },
  },
  // One import direction keeps the lower layers usable without the pages. Files of one layer import each other by
  // relative paths, and those of a page only their own folder. imports.test.ts checks for cycles.
  ...layers.map((layer, i) => ({
    files: [`src/${layer}/**`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["@/*", ...layers.slice(0, i).map((allowed) => `!@/${allowed}`)],
              message: `Import direction: ${layers.join(" <- ")}.`,
            },
            {
              group: ["../*"],
              message:
                "Pages do not import each other. A part that several pages need is a domain rule or a component.",
            },
          ],
        },
      ],
    },
  })),
  {
    // One table has the keys and the requests of all queries. A change names a resource, and `invalidate` its queries.
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/api/queries.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "ObjectExpression > Property[key.name='queryKey']:not([value.property.name='queryKey'])",
          message: "Use a query of src/api/queries.ts, or invalidate().",
        },
        {
          selector: "ObjectExpression > Property[key.name='queryFn']",
          message: "Add the query to src/api/queries.ts.",
        },
        {
          selector:
            "CallExpression[callee.property.name=/^(get|set)Quer(y|ies)(Data|State)$/] > ArrayExpression:first-child",
          message: "Use the queryKey of a query of src/api/queries.ts.",
        },
      ],
    },
  },
  {
    // The browser tests run in Node and pass functions to the page; theme.js runs in the page.
    files: ["e2e/*.mjs", "public/*.js"],
    languageOptions: {
      globals: Object.fromEntries(
        [
          "AbortController",
          "AbortSignal",
          "EventTarget",
          "URL",
          "addEventListener",
          "atob",
          "console",
          "document",
          "fetch",
          "innerWidth",
          "localStorage",
          "matchMedia",
          "navigator",
          "performance",
          "process",
          "requestAnimationFrame",
          "self",
          "setTimeout",
        ].map((name) => [name, false]),
      ),
    },
  },
  {
    rules: {
      // `const { omitted, ...rest }` is the shortest way to omit a member.
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      // Longer lines do not fit a side-by-side diff. Prettier breaks code at 120 columns but not strings and comments.
      "max-len": ["error", { code: 120 }],
    },
  },
);
