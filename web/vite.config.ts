import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` shows: CORRAL_URL, by default the usual address.
const server = process.env.CORRAL_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [svelte()],
  // Relative addresses, so that the page works at every base path.
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false }, // it would be an inline script in older browsers only
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    cssCodeSplit: false,
  },
  server: {
    port: 5173,
    strictPort: false,
    proxy: {
      // The page's own files have no such paths. The server accepts only requests of its own pages.
      "^/(v1|internal|openapi.json)": { target: server, changeOrigin: true, headers: { origin: server } },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
