import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const here = dirname(fileURLToPath(import.meta.url));

/** The packages that are part of the bundle; those of `package.json` and what they need. */
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core"];

/** `virtual:licenses`: the licences of the bundled packages as one text. */
function licenses(): Plugin {
  const id = "\0virtual:licenses";
  const text = () =>
    BUNDLED.map((name) => {
      const folder = join(here, "node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = ["LICENSE", "LICENSE.md", "LICENCE"].map((f) => join(folder, f)).find((f) => existsSync(f));
      if (!file) throw new Error(`no licence file in ${folder}`);
      return `${name} ${version} (${license})\n\n${readFileSync(file, "utf8").trim()}\n`;
    }).join(`\n${"-".repeat(72)}\n\n`);
  return {
    name: "licenses",
    resolveId: (source) => (source === "virtual:licenses" ? id : undefined),
    load: (source) => (source === id ? `export default ${JSON.stringify(text())};` : undefined),
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: text() });
    },
  };
}

// One script and one style sheet: the self-contained file embeds both.
export default defineConfig({
  base: "./",
  plugins: [licenses()],
  build: {
    target: "es2022",
    // `dist` is in git, with nothing in it: what was there before is removed by the script `build`.
    emptyOutDir: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
