// Makes the pictures of docs/view.md: node tests/browser/pictures.mjs
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, REPOSITORY } from "./browser.mjs";

const FOLDER = join(REPOSITORY, "docs", "pictures");
const PICTURES = [
  ["view-guide", { view: "tree" }, { finding: true }],
  ["view-tooltip", { view: "time-profile" }, { hover: [620, 230] }],
  ["view-flame", { view: "clusters", order: "rank", expanded: 3, time_ns: [120_000_000, 260_000_000], critical_path: true }, {}],
  ["view-topology", { view: "topology" }, { light: true, hover: [520, 600] }],
];

mkdirSync(FOLDER, { recursive: true });
for (const [name, state, how] of PICTURES) {
  const it = await open({ dark: !how.light });
  await it.page.evaluate(async (next) => { window.ouzel.setState(next); await window.ouzel.settled(); }, state);
  if (how.finding) await it.page.getByTestId("finding").first().getByRole("button").click();
  if (how.hover) await it.page.mouse.move(...how.hover);
  await it.page.evaluate(() => window.ouzel.settled());
  const file = join(FOLDER, `${name}.png`);
  await it.page.screenshot({ path: file });
  if (200_000 < statSync(file).size) throw new Error(`${file} is larger than 200 kB`);
  await it.close();
}
