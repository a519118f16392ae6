import { render } from "preact";
import "./style/page.css";
import { App } from "./app.tsx";
import { HttpSource } from "./data/http.ts";
import { EmbeddedSource } from "./data/embedded.ts";
import { Pending, type DataSource } from "./data/source.ts";
import { install } from "./api.ts";
import { StoreContext } from "./state/answer.ts";
import { Store } from "./state/store.ts";

const pending = new Pending();
const root = document.getElementById("ouzel") ?? document.body;
const source: DataSource = EmbeddedSource.inPage() ?? new HttpSource(new URL(".", location.href).href, pending);
const api = install(pending);

async function start(): Promise<void> {
  const meta = await source.meta();
  const store = new Store(source, meta, pending);
  document.title = `${meta.name} – Ouzel`;
  render(<StoreContext.Provider value={store}><App onView={(view) => api.connect(store, view)} /></StoreContext.Provider>, root);
  void store.follow();
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  render(<p class="error pad" role="alert">{text} <button onClick={() => location.reload()}>Load anew</button></p>, root);
});
