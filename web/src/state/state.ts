/** What the page shows, as an object; its address is the URL's hash. */

export const VIEWS = [
  "profile", "tree", "time-profile", "matrix", "iterations", "clusters", "counters", "topology", "compare",
] as const;
export type View = (typeof VIEWS)[number] | "timeline" | "guide";

export const VIEW_TITLES: Record<View, string> = {
  guide: "Guide",
  timeline: "Timeline",
  profile: "Profile",
  tree: "Call tree",
  "time-profile": "Time profile",
  matrix: "Communication",
  iterations: "Iterations",
  clusters: "Clusters",
  counters: "Counters",
  topology: "Topology",
  compare: "Two runs",
};

export type Range = [number, number];
export type Depth = number | "auto" | "leaf";
export type Colour = "category" | "region" | "path";
export type Theme = "auto" | "dark" | "light";

export interface State {
  /** The panel below the timeline, or `timeline` to give it the whole height. */
  view: View;
  /** The range of time shown; `null`: the whole run. */
  time_ns: Range | null;
  /** The part of it that is marked; tables answer for it. */
  brush_ns: Range | null;
  /** Ranks that are marked, such as `3-9`; `null`: all. */
  ranks: string | null;
  /** Names from the outermost region; `null`: all. */
  call_path: string[] | null;
  /** `rank`, `cluster`, `topology`, `exclusive_ns`, or a metric of the topology such as `time`. */
  order: string;
  depth: Depth;
  colour: Colour;
  /** The finding that is shown, counted from 0. */
  findings_index: number | null;
  /** Lights what it finds. */
  search: string;
  messages: boolean;
  critical_path: boolean;
  /** Whether the longest waits of each rank are drawn, with what they wait for. */
  waits: boolean;
  /** What is drawn over time below the timeline. */
  track: "none" | "bytes" | "messages";
  /** Whether counters and other metrics are drawn below the timeline. */
  counters: boolean;
  /** Whether only rows of marked ranks are shown. */
  focus: boolean;
  /** Whether threads and streams have rows, below their rank's. */
  threads: boolean;
  /** The rank whose calls are drawn as a flame chart below its row. */
  expanded: number | null;
  theme: Theme;
  palette: string;
  /** What of two runs is below each other. */
  align: "time" | "iteration" | "segment";
  /** Of a profile and of the topology: the metric; `null`: time. */
  metric: string | null;
  /** Number of the topology; `null`: the first that fits. */
  grid: number | null;
  /** Severities without or with those of callees. */
  scope: "exclusive" | "inclusive";
  /** Numbers of the axes along which variation counts; `null`: all. */
  axes: number[] | null;
  /** Numbers of the axes that are shown, at most three; `null`: the first ones. */
  shown_axes: number[] | null;
  /** For each axis the place of the slice, where it is not shown; `null`: the first ones. */
  slices: number[] | null;
  /** The part of the severities that is opaque, from 0 (least) to 1 (most); `null`: all. */
  opaque: Range | null;
  /** Views beside the one of `metric` and `call_path`, under the same camera. */
  beside: SeverityView[] | null;
}

/** A metric of a call path. */
export interface SeverityView {
  metric: string;
  call_path: string[];
}

export const INITIAL: Readonly<State> = {
  view: "profile",
  time_ns: null,
  brush_ns: null,
  ranks: null,
  call_path: null,
  order: "rank",
  depth: "auto",
  colour: "path",
  findings_index: null,
  search: "",
  messages: false,
  critical_path: false,
  waits: false,
  track: "none",
  counters: false,
  focus: false,
  threads: true,
  expanded: null,
  theme: "auto",
  palette: "cividis",
  align: "time",
  metric: null,
  grid: null,
  scope: "exclusive",
  axes: null,
  shown_axes: null,
  slices: null,
  opaque: null,
  beside: null,
};
