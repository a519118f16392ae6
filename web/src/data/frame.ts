import type { Transport } from "./http.ts";
import { GoneError } from "./source.ts";

/** The element that tells the page that it is a frame of a notebook, and asks through it. */
export const FRAME_ID = "ouzel-frame";

/** What the notebook hands over with the port. */
interface Greeting {
  /** The state to begin with, as of the address' hash. */
  hash: string;
}

/** An answer, or a part of one. `status` 0: nobody answers, and `reason` says why. */
interface Answer {
  id: number;
  status: number;
  /** Whether all parts together are compressed with gzip. */
  packed: boolean;
  last: boolean;
  body: ArrayBuffer;
  reason?: string;
}

/**
 * The server asked through the notebook: the page says hello to the document around it, gets a port, and each request is
 * a message. Nothing goes over the network of the browser, so it works wherever the notebook does.
 */
export class NotebookFrame {
  private readonly port: MessagePort;
  private readonly waiting = new Map<number, { parts: ArrayBuffer[]; done: (answer: Answer, body: Blob) => void }>();
  private n = 0;
  readonly hash: string;

  private constructor(port: MessagePort, { hash }: Greeting) {
    this.port = port;
    this.hash = hash;
    port.onmessage = (event: MessageEvent<Answer>) => this.hear(event.data);
  }

  /** Whether the page is such a frame. */
  static isHere(): boolean {
    return document.getElementById(FRAME_ID) !== null;
  }

  static open(): Promise<NotebookFrame> {
    return new Promise((done) => {
      const greeted = (event: MessageEvent<Greeting>) => {
        const [port] = event.ports;
        if (event.source !== parent || !port) return;
        removeEventListener("message", greeted);
        done(new NotebookFrame(port, event.data));
      };
      addEventListener("message", greeted);
      // The frame has no origin of its own, and what it says is no secret.
      parent.postMessage("ouzel-hello", "*");
    });
  }

  readonly transport: Transport = (path, { body, signal }) =>
    new Promise((done, fail) => {
      const id = (this.n += 1);
      const abort = () => {
        if (!this.waiting.delete(id)) return;
        this.port.postMessage({ id, abort: true });
        fail(new DOMException("not wanted any more", "AbortError"));
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort);
      const answered = ({ status, packed, reason }: Answer, blob: Blob) => {
        signal?.removeEventListener("abort", abort);
        if (status === 0) return fail(new GoneError(reason ?? "The kernel does not answer."));
        const content = packed ? blob.stream().pipeThrough(new DecompressionStream("gzip")) : blob;
        done(new Response(status === 204 ? null : content, { status }));
      };
      this.waiting.set(id, { parts: [], done: answered });
      this.port.postMessage(typeof body === "string" ? { id, path, body } : { id, path });
    });

  private hear(answer: Answer): void {
    const asked = this.waiting.get(answer.id);
    if (!asked) return;
    asked.parts.push(answer.body);
    if (!answer.last) return;
    this.waiting.delete(answer.id);
    asked.done(answer, new Blob(asked.parts));
  }
}
