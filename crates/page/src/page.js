// Tells what is under the pointer or the cursor in the timelines. The page says everything else without it.
"use strict";
(() => {
  const source = document.getElementById("timeline-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);

  // The indices of the call paths are the bytes of the image. It is stored without filters, see raster.rs.
  async function indices(image) {
    const bytes = Uint8Array.from(atob(image.src.slice(image.src.indexOf(",") + 1)), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const parts = [];
    let width = 0, height = 0;
    for (let at = 8; at < bytes.length;) {
      const length = view.getUint32(at);
      const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
      if (kind === "IHDR") { width = view.getUint32(at + 8); height = view.getUint32(at + 12); }
      if (kind === "IDAT") parts.push(bytes.subarray(at + 8, at + 8 + length));
      at += 12 + length;
    }
    const inflated = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
    const pixels = new Uint8Array(await new Response(inflated).arrayBuffer());
    return { width, height, at: (x, y) => pixels[y * (width + 1) + 1 + x] };
  }

  const time = (ns, digits) => (ns / data.unit_ns).toFixed(digits) + " " + data.unit;
  const duration = (ns) => {
    for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
      if (ns >= unit) return (ns / unit).toPrecision(4) + " " + name;
    }
    return ns.toFixed(0) + " ns";
  };
  const path = (index) => index === 0 ? ["(not running)"] : index === 1 ? [`(${data.no_region})`]
    : data.paths[index - 2].map((name) => data.names[name]);

  function follow(picture, figure, pixels) {
    const readout = document.getElementById(picture.dataset.readout);
    const hairs = ["v", "h"].map((kind) => {
      const hair = document.createElement("div");
      hair.className = "hair " + kind;
      picture.append(hair);
      return hair;
    });
    let x = Math.floor(pixels.width / 2), y = 0;

    function show(pointer) {
      x = Math.min(Math.max(x, 0), pixels.width - 1);
      y = Math.min(Math.max(y, 0), pixels.height - 1);
      const row = figure.rows.find((row) => y < row.end);
      const index = pixels.at(x, y);
      let first = x, last = x;
      while (first > 0 && pixels.at(first - 1, y) === index) first -= 1;
      while (last + 1 < pixels.width && pixels.at(last + 1, y) === index) last += 1;
      const n_columns = last + 1 - first;
      const instant = (column) => data.origin_ns + column * data.spacing_ns;
      const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(data.unit_ns / data.spacing_ns)) + 1));
      const span = n_columns === 1 ? "less than " + duration(2 * data.spacing_ns)
        : "about " + duration(n_columns * data.spacing_ns) + " from " + time(instant(first), digits);
      const names = path(index);
      const head = row.label + " at " + time(instant(x), digits) + ": " + names[names.length - 1] + ", " + span;
      readout.textContent = head + ". Call path: " + names.join(" › ") + (figure.notes[index] ? ". " + figure.notes[index] : "");
      hairs[0].style.left = (x + 0.5) / pixels.width * 100 + "%";
      hairs[1].style.top = (y + 0.5) / pixels.height * 100 + "%";
      hairs.forEach((hair) => { hair.style.display = "block"; });
      tip.hidden = !pointer;
      if (!pointer) return;
      tip.textContent = row.label + "   " + time(instant(x), digits) + "\n"
        + names.map((name, depth) => "  ".repeat(depth) + name).join("\n") + "\n" + span
        + (figure.notes[index] ? "\n" + figure.notes[index] : "");
      const box = tip.getBoundingClientRect();
      const beside = pointer.clientX + 16;
      tip.style.left = (beside + box.width < innerWidth ? beside : Math.max(4, pointer.clientX - 16 - box.width)) + "px";
      const under = pointer.clientY + 16;
      tip.style.top = (under + box.height < innerHeight ? under : Math.max(4, pointer.clientY - 16 - box.height)) + "px";
    }
    function hide() {
      tip.hidden = true;
      hairs.forEach((hair) => { hair.style.display = "none"; });
    }
    picture.addEventListener("pointermove", (event) => {
      const box = picture.querySelector("img").getBoundingClientRect();
      x = Math.floor((event.clientX - box.left) / box.width * pixels.width);
      y = Math.floor((event.clientY - box.top) / box.height * pixels.height);
      show(event);
    });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("blur", hide);
    picture.addEventListener("focus", () => { if (picture.matches(":focus-visible")) show(null); });
    picture.addEventListener("keydown", (event) => {
      const row = figure.rows.findIndex((row) => y < row.end);
      const start = (row) => row === 0 ? 0 : figure.rows[row - 1].end;
      const far = event.shiftKey ? 32 : 1;
      switch (event.key) {
        case "ArrowLeft": x -= far; break;
        case "ArrowRight": x += far; break;
        case "ArrowUp": y = start(Math.max(0, row - far)); break;
        case "ArrowDown": y = start(Math.min(figure.rows.length - 1, row + far)); break;
        case "Home": x = 0; break;
        case "End": x = pixels.width - 1; break;
        case "Escape": hide(); return;
        default: return;
      }
      event.preventDefault();
      show(null);
    });
  }

  for (const picture of document.querySelectorAll(".picture[data-figure]")) {
    const figure = data.figures[picture.dataset.figure];
    indices(picture.querySelector("img")).then((pixels) => {
      follow(picture, figure, pixels);
      picture.dataset.ready = "yes";
    }, () => {
      document.getElementById(picture.dataset.readout).textContent =
        "This browser cannot unpack the data of the picture; the tables of this page have the numbers.";
    });
  }
  // The timeline that can be zoomed takes the place of its still picture as soon as it is there. It is a page of its own,
  // in a frame without an origin: its script can do nothing to this page.
  async function zoom(packed, still) {
    const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const frame = document.createElement("iframe");
    frame.className = "zoomed";
    frame.title = "Timeline of all ranks, which can be zoomed";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.style.height = `${Math.min(760, Math.max(300, still.querySelector(".picture").clientHeight + (still.clientWidth < 700 ? 240 : 130)))}px`;
    addEventListener("message", ({ source, data }) => {
      if (source === frame.contentWindow && data === "ouzel-timeline") still.classList.add("has-zoomed");
    });
    for (const link of document.querySelectorAll("a[data-show]")) {
      link.addEventListener("click", () => frame.contentWindow.postMessage(JSON.parse(link.dataset.show), "*"));
    }
    frame.srcdoc = await new Response(unpacked).text();
    still.querySelector(".plot").before(frame);
  }
  const packed = document.getElementById("zoomed-timeline");
  // Without it, the still picture is what there is.
  if (packed) zoom(packed, document.getElementById("rank-timeline")).catch(() => undefined);

  // Everything is printed, what is folded away too. Browsers that print it anyway are not disturbed.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((details) => { details.open = false; }); });
})();
