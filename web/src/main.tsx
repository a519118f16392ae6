import { render } from "preact";
import "./style/page.css";
import { App } from "./app.tsx";
import { NotebookFrame } from "./data/frame.ts";
import { HttpSource, overHttp } from "./data/http.ts";
import { EmbeddedSource } from "./data/embedded.ts";
import { followReport } from "./data/report.ts";
import { Pending, type DataSource } from "./data/source.ts";
import { install } from "./api.ts";
import { StoreContext } from "./state/answer.ts";
import { fromHash } from "./state/hash.ts";
import { sleep, Store } from "./state/store.ts";
import { warmUp } from "./timeline/painter.ts";

/** A message that is gone sooner is a flicker. */
const NOTICED_MS = 400;
/** A run that takes longer to open leaves time to prepare its picture. */
const IDLE_MS = 30;
/** A first row that takes longer is not waited for. */
const LATE_MS = 60;

const pending = new Pending();
// An id of its own: an element called `ouzel` would be `window.ouzel` until the script runs.
const root = document.getElementById("page") ?? document.body;
const api = install(pending);

/** Where the answers come from, and for a frame, which has no address, the state to begin with as a hash. */
async function found(): Promise<{ source: DataSource; hash?: string }> {
  if (NotebookFrame.isHere()) {
    const frame = await NotebookFrame.open();
    return { source: new HttpSource(frame.transport, pending), hash: frame.hash };
  }
  const source = EmbeddedSource.inPage() ?? new HttpSource(overHttp(new URL(".", location.href).href), pending);
  return { source };
}

/** What `wanted` becomes; each of `meanwhile` is done where it takes longer than so many milliseconds. */
async function soon<T>(wanted: Promise<T>, ...meanwhile: [number, () => void][]): Promise<T> {
  const timers = meanwhile.map(([ms, work]) => setTimeout(work, ms));
  return wanted.finally(() => timers.forEach(clearTimeout));
}

async function start(): Promise<void> {
  const { source, hash } = await found();
  // Both at once: over a slow line, each way there and back counts.
  const status = source.status(0);
  status.catch(() => undefined);
  const say = () => render(<p class="pad dim" role="status">The run is being opened…</p>, root);
  const meta = await soon(source.meta(), [IDLE_MS, warmUp], [NOTICED_MS, say]);
  const store = new Store(source, meta, pending);
  if (hash !== undefined) store.set(fromHash(hash));
  if (!store.asks) followReport(store);
  document.title = `${meta.name} – Ouzel`;
  void store.follow(status);
  // The first tile is under way while the page is laid out, which takes as long.
  await Promise.race([store.asksTile, sleep(LATE_MS)]);
  render(<StoreContext.Provider value={store}><App onView={(view) => api.connect(store, view)} /></StoreContext.Provider>, root);
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  render(<p class="error pad" role="alert">{text} <button onClick={() => location.reload()}>Load anew</button></p>, root);
});
