import { useState } from "preact/hooks";
import type { CallPaths } from "./data/paths.ts";
import { useStore } from "./state/answer.ts";

/** More are no list that somebody reads. */
const MOST = 12;

/** Call paths whose last region has `text` in its name, the shallowest first; and how many there are. */
export function found(paths: CallPaths, text: string): { ids: number[]; n: number } {
  const needle = text.toLowerCase();
  const ids: number[] = [];
  if (needle !== "") for (let id = 0; id < paths.length; id += 1) if (0 < (paths.depth[id] ?? 0) && paths.name(id).toLowerCase().includes(needle)) ids.push(id);
  ids.sort((a, b) => (paths.depth[a] ?? 0) - (paths.depth[b] ?? 0) || a - b);
  return { ids: ids.slice(0, MOST), n: ids.length };
}

/** The search for regions: lights them in all panels, and lists their call paths; a click or Enter selects one. */
export function SearchRegions() {
  const store = useStore();
  void store.pathsKnown.value;
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const { search } = store.state.value;
  const { ids, n } = open ? found(store.paths, search) : { ids: [], n: 0 };
  const choose = (id: number | undefined) => {
    if (id === undefined) return;
    setOpen(false);
    store.go({ call_path: store.paths.names(id) }, true);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") return choose(ids[Math.max(0, at)]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || ids.length === 0) return;
    event.preventDefault();
    setAt((at + step + ids.length) % ids.length);
  };
  return (
    <div class="search" onFocusOut={(event) => { if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) setOpen(false); }}>
      <input
        type="search" id="search" placeholder="Search regions  /" aria-label="Search regions" role="combobox" aria-expanded={0 < ids.length} aria-controls="found" aria-autocomplete="list"
        aria-activedescendant={0 <= at && at < ids.length ? `found-${at}` : undefined} value={search}
        onFocus={() => setOpen(true)} onKeyDown={key}
        onInput={(event) => { setOpen(true); setAt(-1); store.set({ search: event.currentTarget.value }); }}
      />
      {open && search !== "" && (
        <div class="found" data-testid="found">
          <ul id="found" role="listbox" aria-label="Call paths that are found">
            {ids.map((id, i) => {
              const names = store.paths.names(id);
              return (
                <li key={id} id={`found-${i}`} role="option" aria-selected={i === at} title={names.join(" › ")} onPointerEnter={() => (store.pointedPath.value = id)} onPointerLeave={() => (store.pointedPath.value = null)}>
                  <button class="plain" tabIndex={-1} onPointerDown={(event) => event.preventDefault()} onClick={() => choose(id)}><b>{names.at(-1)}</b><span class="faint">{names.slice(0, -1).join(" › ")}</span></button>
                </li>
              );
            })}
          </ul>
          <p class="faint">{n === 0 ? "No region has this in its name." : n <= ids.length ? `${n} call ${n === 1 ? "path" : "paths"}` : `${ids.length} of ${n} call paths`}</p>
        </div>
      )}
    </div>
  );
}
