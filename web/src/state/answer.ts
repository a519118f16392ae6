import { useContext, useEffect, useState } from "preact/hooks";
import { createContext } from "preact";
import { canonical } from "../data/embedded.ts";
import type { Envelope, Notice, Question, Selection } from "../data/types.ts";
import { sleep, type Store } from "./store.ts";

export const StoreContext = createContext<Store | null>(null);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("a panel outside of the page");
  return store;
}

export interface Answer<T> {
  data: T | null;
  error: string | null;
  /** What was lost on the way to `data`, such as files that are gone. */
  notices?: Notice[];
  /** Whether `data` answers an earlier selection, or is still missing. */
  loading: boolean;
}

const NOT_ASKED = { data: null, error: null, loading: false };
/** Moves closer than this ask once. */
const DEBOUNCE_MS = 140;
/** Without a picture after this, questions are asked all the same. */
const FIRST_PICTURE_MS = 1500;

/**
 * The answer to a question; asked anew when it changes, and the earlier request is then cancelled. The earlier answer
 * stays until the new one is there. With `selection` absent the question is about the present selection; `null` asks nothing.
 */
export function useAnswer<T>(wanted: string | null, options: Record<string, unknown> = {}, selection?: Selection, run?: number, others?: number[]): Answer<T> {
  const store = useStore();
  const question = store.asks ? wanted : null;
  const full: Question = { question: question ?? "", options, selection: selection ?? store.selection.value, ...(run === undefined ? {} : { run }), ...(others === undefined ? {} : { others }) };
  const key = canonical(full);
  const [answer, setAnswer] = useState<Answer<T> & { of: string }>({ data: null, error: null, loading: true, of: key });
  useEffect(() => {
    if (question === null) return;
    const abort = new AbortController();
    setAnswer((before) => ({ ...before, loading: true, error: null }));
    const work = (async () => {
      await sleep(answer.data === null ? 0 : DEBOUNCE_MS);
      // The first picture does not wait behind passes over the whole run.
      if (!store.profileOnly) await Promise.race([store.tiles.first, sleep(FIRST_PICTURE_MS)]);
      if (abort.signal.aborted) return;
      try {
        const got: Envelope<T> = await store.ask(full, abort.signal);
        if (!abort.signal.aborted) setAnswer({ data: got.data, notices: (got.notices ?? []).filter(({ level }) => level === "high"), error: null, loading: false, of: key });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!abort.signal.aborted) setAnswer((before) => ({ ...before, error: message, loading: false, of: key }));
      }
    })();
    void store.pending.track(work);
    return () => abort.abort();
  }, [key]);
  if (question === null) return NOT_ASKED;
  // Until the effect runs, what is held answers the question before.
  return answer.of === key ? answer : { data: answer.data, notices: answer.notices ?? [], error: null, loading: true };
}
