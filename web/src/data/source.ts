import type { Envelope, Location, Messages, Meta, Question, Runs, SentMeta, Status } from "./types.ts";

/** Where a tile lies: its level, its number along time, its block of rows. */
export interface TileKey {
  level: number;
  tile: number;
  block: number;
}

/** What of a tile is asked for: with shares of categories, and without rows that are known, a bit for each. */
export interface TilePart {
  generation: number;
  shares: boolean;
  known: bigint;
  /** Whether it may take long: it is then asked for by itself. */
  slow: boolean;
}

/** A picture of exact bins: `columns` of them from `from` to `to`, of rows `rows[0]` to `rows[1]`, ends included. */
export interface ExactKey {
  from: number;
  to: number;
  columns: number;
  rows: [number, number];
}

/** What the page asks and who answers: a server, or the data inside of a self-contained file. */
export interface DataSource {
  meta(): Promise<Meta>;
  /** Returns when something has changed since generation `since`, or after a while. */
  status(since: number, signal?: AbortSignal): Promise<Status>;
  /** Call paths from number `from` on: the parent, or −1, and the region. */
  callPaths(from: number): Promise<[number, number][]>;
  /** `null`: not there yet. */
  tile(key: TileKey, part: TilePart, signal?: AbortSignal): Promise<ArrayBuffer | null>;
  exact(key: ExactKey, signal?: AbortSignal): Promise<ArrayBuffer | null>;
  messages(from: number, to: number, limit: number, signal?: AbortSignal): Promise<Messages>;
  ask<T>(question: Question, signal?: AbortSignal): Promise<Envelope<T>>;
  /** Another run, where there are several. */
  of?(run: number): DataSource;
}

/** An answer that says what is wrong. */
export class AnswerError extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Nobody answers: the server ended, or the line is cut. */
export class GoneError extends Error {}

/** Requests under way, for `settled()` and the line of progress. */
export class Pending {
  private n = 0;
  private listeners = new Set<(n: number) => void>();

  async track<T>(work: Promise<T>): Promise<T> {
    this.change(1);
    try {
      return await work;
    } finally {
      this.change(-1);
    }
  }

  get count(): number {
    return this.n;
  }

  onChange(listener: (n: number) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private change(by: number): void {
    this.n += by;
    for (const listener of this.listeners) listener(this.n);
  }
}

export function metaFrom(sent: SentMeta): Meta {
  const { id, rank, name, kind, parent_row } = sent.locations;
  const next = { id: sums(id), rank: sums(rank), name: values(name), kind: values(kind), parent_row: sums(parent_row) };
  const n = name.reduce((all, [, times]) => all + times, 0);
  const locations: Location[] = [];
  // Of 100,000 rows, arrays in between would keep the collector of garbage busy.
  for (let row = 0; row < n; row += 1) locations.push({ id: next.id() ?? 0, rank: next.rank() ?? null, name: next.name() ?? "", kind: next.kind() ?? "thread", parent_row: next.parent_row() ?? null });
  return { ...sent, locations };
}

/** The values of a column, one by one. */
function values<T>(runs: Runs<T>): () => T | undefined {
  let [run, left] = [-1, 0];
  return () => {
    while (left === 0 && run < runs.length) left = runs[++run]?.[1] ?? 0;
    left -= 1;
    return runs[run]?.[0];
  };
}

/** Those of a column of differences. */
function sums(steps: Runs<number | null>): () => number | null | undefined {
  const step = values(steps);
  let at = 0;
  return () => {
    const by = step();
    return typeof by === "number" ? (at += by) : by;
  };
}
