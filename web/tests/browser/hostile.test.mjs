// Names from traces are text; a server that ends is told; without WebGL2 the picture is the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";

const EVIL = '<img src=x onerror="window.evil=1"><script>window.evil=2</script>javascript:evil()';

test("names that look like HTML are text everywhere", async () => {
  const it = await open({ rename: (name) => (name === "solve_riemann" ? EVIL : name) });
  await it.page.evaluate(async () => { window.ouzel.setState({ depth: "leaf", view: "tree", expanded: 0 }); await window.ouzel.settled(); });
  const box = await it.page.locator(".overlay").boundingBox();
  let seen = false;
  for (let x = 120; x < 400 && !seen; x += 4) {
    await it.page.mouse.move(box.x + x, box.y + 60);
    seen = (await it.page.locator(".tooltip").allInnerTexts()).join().includes(EVIL);
  }
  assert.ok(seen, "no tooltip shows the name");
  assert.equal(await it.page.evaluate(() => window.evil), undefined);
  assert.equal(await it.page.locator("img, script:not([src])").count(), 0);
  assert.deepEqual(it.errors, []);
  await it.close();
});

test("a server that ends is told, and what is drawn stays", async () => {
  const it = await open();
  it.server.close();
  await it.page.locator(".banner").waitFor();
  assert.match(await it.page.locator(".banner").innerText(), /server does not answer/);
  assert.equal(await it.page.getByTestId("finding").count(), 1);
  await it.close();
});

test("without WebGL2 the same pixels are drawn", async () => {
  const shots = [];
  for (const query of ["", "?painter=canvas"]) {
    const it = await open({ query });
    shots.push(await it.page.evaluate(() => {
      const from = document.querySelector(".picture");
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [from.width, from.height];
      const context = copy.getContext("2d");
      context.drawImage(from, 0, 0);
      return [...context.getImageData(0, 20, copy.width, 1).data];
    }));
    await it.close();
  }
  assert.ok(shots[0].some((value) => value !== 0));
  const differ = shots[0].filter((value, i) => 2 < Math.abs(value - shots[1][i])).length;
  // Borders of bins may round differently.
  assert.ok(differ < shots[0].length / 100, `${differ} of ${shots[0].length} differ`);
});
