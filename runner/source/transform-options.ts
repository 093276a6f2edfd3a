/** How sources are transpiled, whoever does it. */

/** Options of esbuild's `transform` beside the loader, how maps are returned and what is logged. */
export const TRANSFORM_OPTIONS = {
  target: "es2024",
  // Run as it is: this engine has it, and the lowered form hides where an error came from.
  supported: { using: true },
  charset: "ascii",
  sourcefile: "script.ts",
  legalComments: "none",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const;
