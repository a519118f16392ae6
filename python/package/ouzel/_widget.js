// The viewer in a notebook: its page in a frame without an origin, whose requests go through the kernel.
//
// page in the frame ──port──► here ──comm──► ouzel/_widget.py ──HTTP──► server beside the kernel

const MARK = "<!--ouzel-data-->";
const FRAME = '<div id="ouzel-frame" hidden></div>';
const PATIENCE_MS = 15000;

/** A frame of its own: scripts run, but reach neither the notebook nor the network. */
function framed(html, title) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = title;
  frame.style.cssText = "display: block; width: 100%; height: 100%; border: 0";
  frame.srcdoc = html.replace(MARK, FRAME);
  return frame;
}

function render({ model, el }) {
  const me = Math.random().toString(36).slice(2);
  const waiting = new Map();
  const ask = (id, request, answer) => {
    waiting.set(id, answer);
    model.send({ view: me, id, ...request });
  };
  const hear = (content, buffers) => {
    if (content.view !== me) return;
    const answer = waiting.get(content.id);
    if (content.last) waiting.delete(content.id);
    const [part] = buffers ?? [];
    const body = part ? part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength) : new ArrayBuffer(0);
    answer?.(content, body);
  };
  model.on("msg:custom", hear);

  const box = document.createElement("div");
  box.style.cssText = `height: ${model.get("height")}px; min-height: 240px; resize: vertical; overflow: hidden`;
  const note = document.createElement("p");
  note.textContent = "Asking the kernel for the viewer …";
  box.append(note);
  el.append(box);
  const slow = setTimeout(() => {
    note.textContent = "The kernel does not answer: it is busy, or it was restarted. Wait, or run the cell again.";
  }, PATIENCE_MS);

  let frame = null;
  let port = null;
  // A page that is loaded anew counts its requests from 1 again.
  let base = 0;
  const greet = (event) => {
    if (!frame || event.source !== frame.contentWindow || event.data !== "ouzel-hello") return;
    if (port) {
      port.close();
      waiting.clear();
      model.send({ view: me, abort: true });
    }
    const { port1, port2 } = new MessageChannel();
    const before = (base += 2 ** 24);
    port = port1;
    port.onmessage = ({ data }) => {
      const { id, ...request } = data;
      if (request.abort) {
        waiting.delete(before + id);
        model.send({ view: me, id: before + id, abort: true });
        return;
      }
      ask(before + id, request, ({ status, packed, last, reason }, body) => {
        port1.postMessage({ id, status, packed, last, reason, body }, [body]);
      });
    };
    frame.contentWindow.postMessage({ hash: model.get("hash") }, "*", [port2]);
  };
  addEventListener("message", greet);

  const parts = [];
  ask(0, { path: "standalone.html" }, async ({ status, last, packed, reason }, body) => {
    parts.push(body);
    if (!last) return;
    clearTimeout(slow);
    if (status !== 200) {
      note.textContent = reason ?? `The viewer's page is not there (${status}).`;
      return;
    }
    const blob = new Blob(parts);
    const text = packed ? new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).text() : blob.text();
    frame = framed(await text, model.get("title"));
    note.replaceWith(frame);
  });

  return () => {
    clearTimeout(slow);
    removeEventListener("message", greet);
    model.off("msg:custom", hear);
    port?.close();
    model.send({ view: me, abort: true });
  };
}

export default { render };
