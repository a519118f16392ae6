import type { Envelope, Messages, Meta, Question, SentMeta, Status } from "./types.ts";
import { AnswerError, metaFrom, type DataSource, type ExactKey, type TileKey } from "./source.ts";

/** The element of a self-contained file that holds its data. */
export const EMBEDDED_ID = "ouzel-data";

/**
 * Answers inside of the file: an object from each request, as the server would be asked, to its answer; of tiles, base64
 * of what may be compressed with gzip. Questions are keyed by `api/ask?` and their canonical JSON; one that the run cannot
 * answer holds `{ error }`.
 */
export class EmbeddedSource implements DataSource {
  private readonly answers: Record<string, unknown>;

  constructor(answers: Record<string, unknown>) {
    this.answers = answers;
  }

  static inPage(): EmbeddedSource | null {
    const text = document.getElementById(EMBEDDED_ID)?.textContent;
    return text ? new EmbeddedSource(JSON.parse(text)) : null;
  }

  async meta(): Promise<Meta> {
    return metaFrom(await this.get<SentMeta>("api/meta"));
  }

  async status(since: number): Promise<Status> {
    // Nothing ever changes in a file.
    return 0 < since ? new Promise(() => undefined) : this.get("api/status");
  }

  async callPaths(from: number): Promise<[number, number][]> {
    const all = await this.get<{ call_paths: [number, number][] }>("api/call-paths?from=0");
    return all.call_paths.slice(from);
  }

  async tile({ level, tile, block }: TileKey): Promise<ArrayBuffer | null> {
    const text = this.answers[`api/tile?level=${level}&tile=${tile}&block=${block}`];
    return typeof text === "string" ? unpacked(bytes(text)) : null;
  }

  async exact(_: ExactKey): Promise<ArrayBuffer | null> {
    return null;
  }

  messages(): Promise<Messages> {
    return this.get("api/messages");
  }

  ask<T>(question: Question): Promise<Envelope<T>> {
    const found = this.answers[`api/ask?${canonical(question)}`] as Envelope<T> | { error: string } | undefined;
    if (found === undefined) return Promise.reject(new AnswerError("This file does not hold the answer: only those for everything it shows. `ouzel view TRACE` answers for any selection.", 404));
    return "error" in found ? Promise.reject(new AnswerError(found.error, 422)) : Promise.resolve(found);
  }

  private get<T>(key: string): Promise<T> {
    const found = this.answers[key];
    if (found === undefined) return Promise.reject(new AnswerError("This file does not hold the answer.", 404));
    return Promise.resolve(found as T);
  }
}

/** JSON with sorted keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

function bytes(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
}

/** Tiles that are compressed, and others, as they were. */
export function unpacked(content: ArrayBuffer): Promise<ArrayBuffer> {
  const [first, second] = new Uint8Array(content, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return Promise.resolve(content);
  return new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
