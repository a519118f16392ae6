import type { ComponentChildren } from "preact";
import { VIEW_TITLES, type View } from "../state/state.ts";
import type { Notice } from "../data/types.ts";
import { useStore, type Answer } from "../state/answer.ts";

/** The frame of a panel: its tools, its content, and what is wrong. */
export function Panel({ id, answer, tools, children }: { id: View; answer: Answer<unknown>; tools?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class={answer.loading ? "panel loading" : "panel"} data-testid={id} aria-label={VIEW_TITLES[id]} aria-busy={answer.loading}>
      {tools && <div class="tools">{tools}</div>}
      {answer.error && <p class="error pad" role="alert">{answer.error}</p>}
      {!answer.error && answer.loading && answer.data === null && <p class="faint pad">Asking …</p>}
      {!answer.error && <Lost notices={answer.notices ?? []} />}
      {!answer.error && children}
    </section>
  );
}

/** What an answer lacks, beyond what the guide says of the whole run: a trace may vanish while it is looked at. */
function Lost({ notices }: { notices: Notice[] }) {
  const said = new Set(useStore().status.value?.notices.map(({ message }) => message) ?? []);
  const messages = [...new Set(notices.map(({ message }) => message).filter((message) => !said.has(message)))];
  const [first, ...others] = messages;
  return first === undefined ? null : <p class="error pad" role="status">{first}{0 < others.length && `, and ${others.length} more like it`}</p>;
}

export function Search({ value, onChange, label }: { value: string; onChange: (text: string) => void; label: string }) {
  return <input type="search" value={value} placeholder={label} aria-label={label} onInput={(event) => onChange(event.currentTarget.value)} />;
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label class="choice"><span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>{options.map(([key, name]) => <option key={key} value={key}>{name}</option>)}</select>
    </label>
  );
}
