import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", ".integrate", "src/generated"] },
  js.configs.recommended,
  tseslint.configs.recommended,
  { files: ["scripts/*.js"], languageOptions: { globals: { URL: false } } },
  // Prettier breaks code at 120 columns but not strings and comments.
  { rules: { "max-len": ["error", { code: 120 }] } },
);
