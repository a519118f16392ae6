import type { Store } from "../state/store.ts";

/** What the timeline inside of a report says to it when it begins. */
const HERE = "ouzel-timeline";

/**
 * The timeline inside of a report: it tells the page around it that it is there, and shows what its links name. The report
 * is the only one that is heard, and what it sends is checked like an address.
 */
export function followReport(store: Store): void {
  store.set({ view: "timeline" });
  addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
    if (source === parent && typeof data === "object" && data !== null) store.go(data, true);
  });
  // The frame has no origin of its own, and what it says is no secret.
  parent.postMessage(HERE, "*");
}
