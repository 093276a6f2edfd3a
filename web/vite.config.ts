/** How the console is built: one page, files with a hash in their name, nothing from outside. */
import path from "node:path";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // Relative: the server may be reachable under a path of a proxy.
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: {
    alias: {
      "markdown-to-jsx/react": path.join(import.meta.dirname, "forms/no-markdown.ts"),
      react: "preact/compat",
      "react-dom": "preact/compat",
      "react/jsx-runtime": "preact/jsx-runtime",
    },
    dedupe: ["preact"],
    conditions: ["browser", "module", "import", "default"],
  },
  build: {
    outDir: "dist/site",
    assetsDir: "console",
    emptyOutDir: true,
    target: "es2023",
    // As data: URLs they would need a weaker policy.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: "console/licenses.md" },
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      // "use client" in libraries means nothing here.
      onLog: (level, log, handle) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : handle(level, log)),
      checks: { pluginTimings: false },
    },
  },
  logLevel: "warn",
});
