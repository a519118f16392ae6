import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { canonical } from "../data/embedded.ts";
import { CallPaths } from "../data/paths.ts";
import { AnswerError, GoneError, Pending, type DataSource } from "../data/source.ts";
import { TileStore } from "../data/tiles.ts";
import type { Envelope, Meta, Question, Selection, Status } from "../data/types.ts";
import { parseRanks } from "../ranks.ts";
import { fromHash, merge, toHash } from "./hash.ts";
import { INITIAL, type Range, type State } from "./state.ts";

const MAX_ANSWERS = 60;
/** The report holds about 18 bytes of memory for each event. */
const MAX_EVENTS_UNASKED = 200_000_000;
/** Of the report, for each event. */
export const REPORT_BYTES = 18;
/** Moves closer in time than this are one step of the way back. */
const ONE_MOVE_MS = 700;
/** The address follows the state after this. */
const HASH_PAUSE_MS = 200;

/** What a way back leads to. */
export type Place = Pick<State, "time_ns" | "brush_ns" | "ranks" | "call_path" | "focus" | "findings_index">;

/** Everything the page knows: the data, what is shown of it, and what is under the pointer. */
/** Pauses between two looks at a server that reads. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 1000;
/** Tiles of an incomplete timeline are asked for anew when a quarter of it has come since, or after this. */
const LAST_REFRESH_MS = 5000;

export class Store {
  readonly state: Signal<State>;
  readonly status = signal<Status | null>(null);
  private refreshed = { done: 0, at: 0 };
  private takenBack = 0;
  readonly error = signal<string | null>(null);
  readonly pathsKnown = signal(0);
  readonly trail = signal<Place[]>([]);
  /** Number of the call path that some panel points at. */
  readonly pointedPath = signal<number | null>(null);
  /** Whether findings are asked for: of very long traces only when the user says so, as they take much memory. */
  readonly wantsReport: Signal<boolean>;
  readonly selection: ReadonlySignal<Selection>;
  readonly paths: CallPaths;
  readonly tiles: TileStore;
  readonly source: DataSource;
  readonly meta: Meta;
  readonly pending: Pending;
  private readonly answers = new Map<string, Promise<Envelope<unknown>>>();
  private moved = 0;
  /** The address that the state came from or went to. */
  private hash = location.hash;
  private hashAt = -Infinity;
  private hashTimer: ReturnType<typeof setTimeout> | null = null;
  private ended = false;
  /** Resolves with the first tile, or when there will be none. */
  private readonly shownFirst: Promise<void>;
  private nothingComes: () => void = () => undefined;
  /** Resolves when the first tile is asked for, or when there will be none. */
  readonly asksTile: Promise<void>;
  private askedTile: () => void = () => undefined;

  /** The second run, once it is known. */
  readonly second = signal<Store | null>(null);

  /** With `state`, it is what another one shows; else it is the address'. */
  constructor(source: DataSource, meta: Meta, pending: Pending, state?: Signal<State>) {
    this.source = source;
    this.meta = meta;
    this.pending = pending;
    this.state = state ?? signal(fromHash(location.hash));
    this.wantsReport = signal(this.asks && (meta.n_events ?? 0) <= MAX_EVENTS_UNASKED);
    this.paths = new CallPaths(meta);
    this.tiles = new TileStore(source, meta);
    this.tiles.onError = (error) => this.report(error);
    this.shownFirst = Promise.race([this.tiles.first, new Promise<void>((done) => (this.nothingComes = done))]);
    this.asksTile = new Promise((done) => (this.askedTile = done));
    if (this.profileOnly) [this.nothingComes, this.askedTile].forEach((none) => none());
    this.selection = computed(() => selectionOf(this.state.value));
    if (state) return;
    addEventListener("hashchange", () => {
      this.hash = location.hash;
      this.state.value = fromHash(location.hash);
    });
    effect(() => { void this.state.value; this.writeHashSoon(); });
  }

  get end(): number {
    return Math.max(1, this.meta.time_ns[1]);
  }

  /** A profile has no time line: no tiles, no calls, no findings of a trace. */
  get profileOnly(): boolean {
    return this.meta.abilities["profile_only"] === true;
  }

  /** Whether questions have answers. Inside of a report there is the timeline alone. */
  get asks(): boolean {
    return this.meta.abilities["questions"] !== false;
  }

  /** The range of time shown. */
  get shown(): Range {
    return this.state.value.time_ns ?? [this.meta.time_ns[0], this.end];
  }

  get ranks(): Set<number> | null {
    return this.state.value.ranks === null ? null : parseRanks(this.state.value.ranks);
  }

  set(change: Partial<State> | Record<string, unknown>): void {
    this.state.value = merge(this.state.value, change);
  }

  /** As `set`, and remembers where one comes from. */
  go(change: Partial<State>, alone = false): void {
    const now = performance.now();
    if (alone || ONE_MOVE_MS < now - this.moved) this.trail.value = [...this.trail.value.slice(-19), placeOf(this.state.value)];
    this.moved = alone ? 0 : now;
    this.set(change);
  }

  /** Back to the place `steps` ago. */
  back(steps = 1): void {
    const trail = this.trail.value;
    const to = trail[trail.length - steps];
    if (!to) return;
    this.trail.value = trail.slice(0, trail.length - steps);
    this.moved = 0;
    this.set(to);
  }

  everything(): void {
    const { time_ns, brush_ns, ranks, call_path, focus, findings_index } = INITIAL;
    this.go({ time_ns, brush_ns, ranks, call_path, focus, findings_index }, true);
  }

  /** Shows `range`, inside of the run and not below some nanoseconds. */
  show(range: Range, alone = false): void {
    const width = Math.min(this.end, Math.max(20, range[1] - range[0]));
    const from = Math.min(Math.max(0, range[0]), this.end - width);
    const whole = this.end * (1 - 1e-9) <= width;
    this.go({ time_ns: whole ? null : [Math.round(from), Math.round(from + width)] }, alone);
  }

  /** The answer to a question; the same question is asked once. */
  ask<T>(question: Question, signal?: AbortSignal): Promise<Envelope<T>> {
    const key = canonical(question);
    const known = this.answers.get(key);
    if (known) return known as Promise<Envelope<T>>;
    // The picture comes first: a question takes all processors of the server.
    const answer = this.pending.track(this.shownFirst.then(() => this.source.ask<T>(question, signal)));
    this.answers.set(key, answer);
    const forget = () => this.answers.get(key) === answer && this.answers.delete(key);
    answer.catch(forget);
    // Two may wait for one answer; who goes on alone asks anew.
    signal?.addEventListener("abort", forget);
    const oldest = this.answers.keys().next().value;
    if (MAX_ANSWERS < this.answers.size && oldest !== undefined) this.answers.delete(oldest);
    return answer;
  }

  report(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof GoneError) this.error.value = "The server does not answer: it ended, or the line is cut. What is drawn stays; the page tries again.";
    else if (error instanceof AnswerError) this.error.value = error.message;
    else this.error.value = error instanceof Error ? error.message : String(error);
  }

  /** Follows the server's news until the page closes. */
  async follow(first: Promise<Status> = this.source.status(0)): Promise<void> {
    let generation = 0;
    let pause = FIRST_PAUSE_MS;
    let next: Promise<Status> | null = first;
    for (let wait = 500; !this.ended; ) {
      try {
        const status: Status = await (next ?? this.source.status(generation));
        next = null;
        // Tiles need not wait for the names of what they show.
        const paths = this.learnPaths(status.call_paths_known);
        this.learnTiles(status);
        const isWaiting = !status.tiles.complete && !this.tiles.hasFirst;
        if (isWaiting) {
          next = this.source.status(status.generation);
          next.catch(() => undefined);
        }
        if (status.tiles.complete) this.nothingComes();
        await paths;
        this.status.value = status;
        if (wait !== 500) this.error.value = null;
        wait = 500;
        if (status.generation === generation) await sleep(250);
        // While locations come by the thousand, each of them is no news; the first ones are.
        if (!status.tiles.complete && !isWaiting) await sleep((pause = Math.min(LAST_PAUSE_MS, pause * 1.5)));
        generation = status.generation;
        if (status.report?.startsWith("failed")) this.error.value = status.report;
      } catch (error) {
        next = null;
        this.report(error);
        await sleep(wait);
        wait = Math.min(10_000, wait * 2);
      }
    }
  }

  stop(): void {
    this.ended = true;
  }

  private learnTiles({ generation, tiles, time_ns }: Status): void {
    const { done, complete, taken_back = 0 } = tiles;
    const isOther = this.takenBack !== taken_back;
    if (isOther) [this.takenBack, this.refreshed] = [taken_back, { done: 0, at: 0 }];
    const last = this.refreshed;
    // Each time, all tiles in view are sent again.
    if (complete || done >= 1.25 * last.done || performance.now() >= last.at + LAST_REFRESH_MS) {
      this.tiles.generation = generation;
      this.tiles.blocks = tiles.blocks ?? null;
      this.tiles.complete = complete;
      this.tiles.finest = tiles.finest ?? Infinity;
      this.refreshed = { done, at: performance.now() };
    }
    const { meta } = this;
    if (time_ns) meta.time_ns = time_ns;
    const known = meta.tiles;
    meta.tiles = { ...known, bin0_ns: tiles.bin0_ns ?? known.bin0_ns, n_levels: tiles.n_levels ?? known.n_levels, floor: tiles.floor ?? 0 };
    // Tiles of other bins, or of what the server took back, are other pictures.
    if (isOther || meta.tiles.bin0_ns !== known.bin0_ns) this.tiles.forget();
    this.tiles.onArrival();
    // The page may not be laid out yet, and need not be for this.
    const block = this.tiles.blocks?.findIndex((n) => 0 < n) ?? -1;
    if (!this.tiles.hasFirst && 0 <= block) this.tiles.want([{ level: this.tiles.coarsest, tile: 0, block }]);
    if (complete || 0 <= block) this.askedTile();
  }

  private async learnPaths(known: number): Promise<void> {
    if (known <= this.paths.length) return;
    this.paths.append(await this.source.callPaths(this.paths.length));
    this.pathsKnown.value = this.paths.length;
  }

  /** At once, but while the picture moves a few times a second: each change of the address takes the browser milliseconds. */
  private writeHashSoon(): void {
    if (this.hashTimer !== null) return;
    const since = performance.now() - this.hashAt;
    const write = () => {
      this.hashTimer = null;
      this.hashAt = performance.now();
      this.writeHash(this.state.peek());
    };
    if (HASH_PAUSE_MS <= since) write();
    else this.hashTimer = setTimeout(write, HASH_PAUSE_MS - since);
  }

  /** Whether the address has the state. */
  get isAddressed(): boolean {
    return this.hashTimer === null;
  }

  private writeHash(state: State): void {
    // A frame of a notebook has no address of its own; and what the user has just typed is news to come.
    if (location.protocol === "about:" || location.hash !== this.hash) return;
    const hash = toHash(state);
    if (hash !== location.hash) history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
    this.hash = location.hash;
  }
}

export function selectionOf(state: State): Selection {
  const time = state.brush_ns ?? state.time_ns;
  return {
    ...(time ? { time_ns: time } : {}),
    ...(state.ranks === null ? {} : { ranks: state.ranks }),
    ...(state.call_path === null ? {} : { call_path: state.call_path }),
  };
}

function placeOf(state: State): Place {
  const { time_ns, brush_ns, ranks, call_path, focus, findings_index } = state;
  return { time_ns, brush_ns, ranks, call_path, focus, findings_index };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
