import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default {
  preprocess: vitePreprocess(),
  // On a narrow screen the rows of tables are blocks, and browsers then forget the roles of their elements.
  compilerOptions: { warningFilter: ({ code }) => code !== "a11y_no_redundant_roles" },
};
