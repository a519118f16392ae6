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
  /** `rank`, `cluster`, or a metric of the profile such as `exclusive_ns`. */
  order: string;
  depth: Depth;
  colour: Colour;
  /** The finding that is shown, counted from 0. */
  findings_index: number | null;
  /** Lights what it finds. */
  search: string;
  messages: boolean;
  critical_path: boolean;
  /** Whether only rows of marked ranks are shown. */
  focus: boolean;
  /** The rank whose calls are drawn as a flame chart below its row. */
  expanded: number | null;
  theme: Theme;
  palette: string;
  /** Of the topology: metric, grid. */
  metric: string | null;
  grid: number;
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
  focus: false,
  expanded: null,
  theme: "auto",
  palette: "cividis",
  metric: null,
  grid: 0,
};
