/** Shapes of what the server answers. Answers to questions are the documents of docs/json.md; only what is used is typed. */

export type Ns = number;

export interface Location {
  id: number;
  rank: number | null;
  name: string;
  kind: "thread" | "stream" | "metric";
  parent_row: number | null;
}

export interface Region {
  id: number;
  name: string;
  /** Without the parameters of C++, if it has some. */
  short?: string;
  /** Index into `categories`, or the name of one. */
  category: number | string;
}

export interface Category {
  name: string;
  colour_light: string;
  colour_dark: string;
}

/** Rows that behave alike. */
export interface ClusterOrder {
  cluster: number;
  rows: number[];
  representative: number;
}

/** A remark on a stretch of time, of one row or of the whole run. */
export interface Marker { time_ns: [Ns, Ns]; row: number | null; name: string; text: string; level: "low" | "medium" | "high" | null }

export interface Meta {
  version: string;
  name: string;
  format: string;
  time_ns: [Ns, Ns];
  n_locations: number;
  /** As far as the trace declares them. */
  n_events?: number;
  locations: Location[];
  /** By time. */
  markers?: Marker[];
  regions: Region[];
  categories: Category[];
  /** `floor`: finer levels than this are not to be had. */
  tiles: { bins: number; rows: number; n_levels: number; bin0_ns: number; floor?: number };
  abilities: Record<string, boolean>;
  runs?: string[];
}

/** Values, each with how often it comes in turn. */
export type Runs<T> = [T, number][];

/** As it is sent: of locations a column of each field, numbers as differences to those before. */
export interface SentMeta extends Omit<Meta, "locations"> {
  locations: { id: Runs<number>; rank: Runs<number | null>; name: Runs<string>; kind: Runs<Location["kind"]>; parent_row: Runs<number | null> };
}

export interface Status {
  generation: number;
  /** What is known of the tiles; `bin0_ns` and `n_levels` may change while the trace is read. */
  tiles: { done: number; total: number; complete: boolean; bin0_ns?: number; n_levels?: number; floor?: number; blocks?: number[]; finest?: number; taken_back?: number };
  time_ns?: [Ns, Ns];
  call_paths_known: number;
  report?: string;
  notices: Notice[];
}

export interface Notice {
  level: "high" | "medium" | "low";
  code: string;
  message: string;
  count: number;
}

export interface Selection {
  time_ns?: [Ns, Ns];
  ranks?: string;
  call_path?: string[];
}

export interface Question {
  question: string;
  selection: Selection;
  options: Record<string, unknown>;
  run?: number;
  /** The other runs, for questions that compare some. */
  others?: number[];
}

export interface Envelope<T> {
  schema: string;
  version: string;
  notices: Notice[];
  data: T;
}

/** A row of the answer to `calls`. */
export interface CallRow {
  location: number;
  call: number;
  parent: number | null;
  region: string;
  enter_ns: Ns;
  leave_ns: Ns;
}

/** A collective operation: row, arrival and end of each member, by rank. */
export interface Collective {
  op: string;
  root: number | null;
  members: [number, Ns, Ns][];
}

export interface Messages {
  arrows?: [number, Ns, number, Ns][];
  bundles?: [number, number, number][];
  n?: number;
  collectives?: Collective[];
  n_collectives?: number;
}

/** The answer to `correlate --values`. */
export interface Placed {
  view: { metric: string; display_name: string; unit: string; call_path: string[]; scope: string };
  topology: { name: string; origin: string; n_places: number; n_located: number };
  axes: { name: string; size: number; periodic: boolean; selected: boolean }[];
  /** By place, the last axis fastest. */
  values: (number | null)[];
  ranks: (number | null)[];
  metrics: { name: string; display_name: string; unit: string }[];
  topologies: { name: string; sizes: number[] }[];
}

/** The answer to `correlate`. */
export interface Correlated {
  reference: { kept: number };
  n_views: number;
  rows: { metric: string; call_path: string[]; r: number; shift: number[]; sign: string }[];
}

export interface Ranks {
  ranges: string;
  list: number[];
}

export interface Evidence {
  text: string;
  formula: string;
  values: { name: string; value: number; unit: string }[];
}

export interface Finding {
  kind: string;
  title: string;
  sentence: string;
  call_path: string[];
  more_call_paths: string[][];
  source: string | null;
  ranks: Ranks;
  iterations: { n_all: number; ranges: [number, number][] } | null;
  time_range_ns: [Ns, Ns];
  gain_ns: Ns;
  gain_fraction: number;
  assumption: string;
  confidence: "possible" | "likely" | "sure";
  confidence_reason: string;
  evidence: Evidence[];
  advice: string;
  command: string[];
}

export interface Segment {
  id: number;
  start_ns: Ns;
  end_ns: Ns;
  n_phases: number;
  sync: string[] | null;
  lost_ns: Ns;
  diagnosis: string;
  reported: boolean;
  paths: { call_path: string[]; category: string; imb_ns: Ns; wait_ns: Ns }[];
}

export interface Report {
  run: { span_ns: Ns; n_processes: number; n_threads: number; n_events: number; n_messages: number };
  headline: { text: string; incomplete: string | null; selected: string | null; gain_ns: Ns; gain_fraction: number } | string;
  efficiency: { parallel: number; load_balance: number; communication: number } | null;
  findings: Finding[];
  segments: Segment[];
}

export interface Column {
  name: string;
  unit: string;
  doc: string;
}

export type Cell = string | number | boolean | null | string[] | undefined;
export type Row = Record<string, Cell>;

export interface Table {
  columns: Column[];
  rows: Row[];
}
