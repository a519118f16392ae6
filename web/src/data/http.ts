import type { Envelope, Messages, Meta, Question, SentMeta, Status } from "./types.ts";
import { AnswerError, GoneError, metaFrom, Pending, type DataSource, type ExactKey, type TileKey, type TilePart } from "./source.ts";

/** Parallel requests of tiles: enough for a fast line, few enough for one of 1 Mbit/s. */
const MAX_TILES = 6;

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
