import { createHash } from "node:crypto";
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

/** Where a self-contained file holds its data. */
const DATA = "<!--ouzel-data-->";

/** `standalone.html`: the page with its script and style inside, allowed by their hashes; `ouzel view -o` puts the data in. */
function standalone(): Plugin {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    name: "standalone",
    enforce: "post",
    generateBundle(_, bundle) {
      const all = Object.values(bundle);
      const script = all.flatMap((file) => (file.type === "chunk" ? [file.code] : []));
      const style = all.flatMap((file) => (file.type === "asset" && file.fileName.endsWith(".css") ? [String(file.source)] : []));
      if (script.length !== 1 || style.length !== 1) throw new Error("the page is not one script and one style sheet");
      // In strings of a script the backslash changes nothing; without it, the element would end there.
      const code = (script[0] ?? "").replace(/<\/(?=script)/gi, "<\\/").replace(/<!--/g, "<\\!--");
      const css = style[0] ?? "";
      if (/<\/style/i.test(css)) throw new Error("the style sheet ends its element");
      const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(css)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
      const source = readFileSync(join(here, "index.html"), "utf8")
        .replace(/<meta charset[^>]*>/, (tag) => `${tag}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`)
        .replace(/ *<script[^>]*><\/script>\n/, () => `    <style>${css}</style>\n`)
        .replace(/<\/body>/, () => `${DATA}\n    <script type="module">${code}</script>\n  </body>`);
      this.emitFile({ type: "asset", fileName: "standalone.html", source });
    },
  };
}

// One script and one style sheet: the self-contained file embeds both.
export default defineConfig({
  base: "./",
  plugins: [licenses(), standalone()],
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
