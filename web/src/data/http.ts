import type { Envelope, Messages, Meta, Question, SentMeta, Status } from "./types.ts";
import { unpacked } from "./embedded.ts";
import { AnswerError, GoneError, metaFrom, Pending, type DataSource, type ExactKey, type TileKey, type TilePart } from "./source.ts";

/** Parallel requests of tiles: enough for a fast line, few enough for one of 1 Mbit/s. */
const MAX_TILES = 6;

/** Tiles of one request, as many as the server allows. */
const MAX_TOGETHER = 16;

/** A tile that waits for others of its level. */
interface Asked {
  key: TileKey;
  generation: number;
  signal: AbortSignal | undefined;
  done: (bytes: ArrayBuffer | null) => void;
  fail: (error: unknown) => void;
}

/** Asks for a path below the token; fails if nobody answers. */
export type Transport = (path: string, init: RequestInit) => Promise<Response>;

/** The way over HTTP to what is at `base`. */
export function overHttp(base: string): Transport {
  return (path, init) => fetch(base + path, { ...init, credentials: "same-origin" });
}

/** The server that served the page, or that the notebook around it asks. */
export class HttpSource implements DataSource {
  readonly pending: Pending;
  private readonly transport: Transport;
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  private asked: Asked[] = [];

  /** Which of the runs, counted from 0. */
  private readonly run: number;

  constructor(transport: Transport, pending = new Pending(), run = 0) {
    this.transport = transport;
    this.pending = pending;
    this.run = run;
  }

  /** The same server's answers about another run. */
  of(run: number): HttpSource {
    return new HttpSource(this.transport, this.pending, run);
  }

  async meta(): Promise<Meta> {
    return metaFrom(await this.json<SentMeta>("api/meta"));
  }

  // Not counted as pending: it waits for news.
  async status(since: number, signal?: AbortSignal): Promise<Status> {
    const answer = await this.fetch(`api/status?since=${since}`, signal ? { signal } : {});
    return answer.json();
  }

  async callPaths(from: number): Promise<[number, number][]> {
    return (await this.json<{ call_paths: [number, number][] }>(`api/call-paths?from=${from}`)).call_paths;
  }

  tile(key: TileKey, part: TilePart, signal?: AbortSignal): Promise<ArrayBuffer | null> {
    const { generation, shares, known, slow } = part;
    if (shares || known !== 0n || slow) return this.oneTile(key, part, signal);
    return new Promise((done, fail) => {
      // All that a picture wants is asked for in one go, so it is known after this.
      if (this.asked.length === 0) queueMicrotask(() => this.askTogether());
      this.asked.push({ key, generation, signal, done, fail });
    });
  }

  /** Requests cost more than tiles: those of a level are asked for together. */
  private askTogether(): void {
    const groups = new Map<string, Asked[]>();
    for (const each of this.asked) {
      const of = `${each.key.level}/${each.generation}`;
      groups.set(of, [...(groups.get(of) ?? []), each]);
    }
    this.asked = [];
    for (const group of groups.values()) {
      const n = Math.ceil(group.length / MAX_TOGETHER);
      const size = Math.ceil(group.length / n);
      for (let at = 0; at < group.length; at += size) void this.pending.track(this.inTurn(() => this.together(group.slice(at, at + size))));
    }
  }

  private async together(all: Asked[]): Promise<void> {
    const abort = new AbortController();
    const left = all.filter(({ signal }) => !signal?.aborted);
    const drop = ({ fail }: Asked) => {
      fail(new DOMException("not wanted any more", "AbortError"));
      if (left.every(({ signal }) => signal?.aborted)) abort.abort();
    };
    for (const each of all) {
      if (each.signal?.aborted) drop(each);
      else each.signal?.addEventListener("abort", () => drop(each));
    }
    const [first] = left;
    if (!first) return;
    try {
      const at = left.map(({ key }) => `${key.tile}.${key.block}`).join(",");
      const answer = await this.fetch(`api/tiles?g=${first.generation}&level=${first.key.level}&at=${at}`, { signal: abort.signal });
      const parts = partsOf(await answer.arrayBuffer(), left.length);
      await Promise.all(left.map(async ({ done }, i) => { const part = parts[i]; done(part ? await unpacked(part) : null); }));
    } catch (error) {
      for (const { fail } of left) fail(error);
    }
  }

  private oneTile(key: TileKey, part: TilePart, signal?: AbortSignal): Promise<ArrayBuffer | null> {
    const { level, tile, block } = key;
    const rest = `${part.shares ? "&shares=1" : ""}${part.known === 0n ? "" : `&known=${part.known}`}`;
    return this.binary(`api/tile?g=${part.generation}&level=${level}&tile=${tile}&block=${block}${rest}`, signal);
  }

  exact(key: ExactKey, signal?: AbortSignal): Promise<ArrayBuffer | null> {
    const { from, to, columns, rows } = key;
    return this.binary(`api/exact?from=${from}&to=${to}&columns=${columns}&rows=${rows[0]}-${rows[1]}`, signal);
  }

  messages(from: number, to: number, limit: number, signal?: AbortSignal): Promise<Messages> {
    return this.json(`api/messages?from=${from}&to=${to}&limit=${limit}`, signal);
  }

  ask<T>(question: Question, signal?: AbortSignal): Promise<Envelope<T>> {
    return this.json("api/ask", signal, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(this.run === 0 ? question : { ...question, run: this.run }),
    });
  }

  private async json<T>(path: string, signal?: AbortSignal, init: RequestInit = {}): Promise<T> {
    return this.pending.track((async () => (await this.fetch(path, signal ? { ...init, signal } : init)).json())());
  }

  private binary(path: string, signal?: AbortSignal): Promise<ArrayBuffer | null> {
    return this.pending.track(this.inTurn(async () => {
      signal?.throwIfAborted();
      const answer = await this.fetch(path, signal ? { signal } : {});
      return answer.status === 204 ? null : answer.arrayBuffer();
    }));
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (MAX_TILES <= this.running) await new Promise<void>((go) => this.waiting.push(go));
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }

  private async fetch(path: string, init: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      const of = this.run === 0 || path === "api/ask" ? "" : `${path.includes("?") ? "&" : "?"}run=${this.run}`;
      answer = await this.transport(path + of, init);
    } catch (error) {
      if (init.signal?.aborted || error instanceof GoneError) throw error;
      throw new GoneError("The server does not answer.");
    }
    if (answer.ok) return answer;
    const text = await answer.text();
    let message = `The server answered ${answer.status}.`;
    try {
      message = (JSON.parse(text) as { error?: string }).error ?? message;
    } catch {
      // Not JSON: the status says it.
    }
    throw new AnswerError(message, answer.status);
  }
}

/** Parts that have their length before them; empty ones are `null`. */
export function partsOf(bytes: ArrayBuffer, n: number): (ArrayBuffer | null)[] {
  const view = new DataView(bytes);
  const parts: (ArrayBuffer | null)[] = [];
  let at = 0;
  for (let i = 0; i < n; i += 1) {
    const length = view.getUint32(at, true);
    if (bytes.byteLength < at + 4 + length) throw new Error(`part ${i} of ${n} ends behind ${bytes.byteLength} bytes`);
    parts.push(length === 0 ? null : bytes.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  if (at !== bytes.byteLength) throw new Error(`${n} parts end at ${at} of ${bytes.byteLength} bytes`);
  return parts;
}
