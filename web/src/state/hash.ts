import { parseRanks } from "../ranks.ts";
import { INITIAL, VIEW_TITLES, type State } from "./state.ts";

/** A state as `#view=tree&time_ns=5,9`; what is as at the beginning is left out. */
export function toHash(state: State): string {
  const parts: string[] = [];
  for (const key of Object.keys(INITIAL) as (keyof State)[]) {
    const value = state[key];
    if (value === INITIAL[key] || value === null) continue;
    parts.push(`${key}=${encode(key, value)}`);
  }
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

/** The state of a hash. Keys and values that make no sense are left as at the beginning. */
export function fromHash(hash: string): State {
  const read: Record<string, unknown> = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("=");
    if (cut < 0) continue;
    try {
      read[part.slice(0, cut)] = decode(part.slice(0, cut), part.slice(cut + 1));
    } catch {
      // `%` without two digits: not written by this page.
    }
  }
  return merge(INITIAL, read);
}

/** `state` with what of `change` makes sense. */
export function merge(state: State, change: Record<string, unknown>): State {
  const next: Record<string, unknown> = { ...state };
  for (const key of Object.keys(INITIAL) as (keyof State)[]) {
    if (!(key in change)) continue;
    const value = valid(key, change[key]);
    if (value !== undefined) next[key] = value;
  }
  return next as unknown as State;
}

function encode(key: keyof State, value: NonNullable<State[keyof State]>): string {
  if (key === "beside") return encodeURIComponent(JSON.stringify(value));
  if (key === "call_path") return (value as string[]).map(encodeURIComponent).join("/");
  return String(value).split(",").map(encodeURIComponent).join(",");
}

function decode(key: string, text: string): unknown {
  switch (key) {
    case "call_path": return text === "" ? [] : text.split("/").map(decodeURIComponent);
    case "beside": return JSON.parse(decodeURIComponent(text));
    case "time_ns": case "brush_ns": case "axes": case "shown_axes": case "slices": case "opaque": return text.split(",").map((number) => (number === "" ? NaN : Number(number)));
    case "depth": return /^\d+$/.test(text) ? Number(text) : text;
    case "findings_index": case "expanded": case "grid": return Number(text);
    case "messages": case "critical_path": case "focus": case "threads": case "waits": case "counters": return text === "true";
    default: return decodeURIComponent(text);
  }
}

const oneOf = <T>(value: unknown, ...allowed: T[]) => (allowed.includes(value as T) ? value : undefined);
const index = (value: unknown) => (Number.isSafeInteger(value) && 0 <= (value as number) ? value : undefined);
const orNull = (value: unknown, check: (value: unknown) => unknown) => (value === null ? null : check(value));

function valid(key: keyof State, value: unknown): unknown {
  switch (key) {
    case "view": return oneOf(value, ...Object.keys(VIEW_TITLES));
    case "time_ns": case "brush_ns": return orNull(value, range);
    case "ranks": return orNull(value, (v) => (typeof v === "string" && parseRanks(v) ? v : undefined));
    case "call_path": return orNull(value, names);
    case "depth": return oneOf(value, "auto", "leaf") ?? (index(value) === 0 ? undefined : index(value));
    case "colour": return oneOf(value, "category", "region", "path");
    case "findings_index": case "expanded": return orNull(value, index);
    case "grid": return orNull(value, index);
    case "axes": case "shown_axes": case "slices": return orNull(value, (v) => numbers(v, key === "shown_axes" ? 3 : MAX_AXES));
    case "opaque": return orNull(value, part);
    case "beside": return orNull(value, views);
    case "align": return oneOf(value, "time", "iteration", "segment");
    case "track": return oneOf(value, "none", "bytes", "messages");
    case "scope": return oneOf(value, "exclusive", "inclusive");
    case "messages": case "critical_path": case "focus": case "threads": case "waits": case "counters": return oneOf(value, true, false);
    case "theme": return oneOf(value, "auto", "dark", "light");
    case "metric": return value === null || typeof value === "string" ? value : undefined;
    default: return typeof value === "string" ? value : undefined;
  }
}

function range(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [a, b] = value as unknown[];
  const good = typeof a === "number" && typeof b === "number" && 0 <= a && a < b && Number.isFinite(b);
  return good ? [Math.round(a), Math.max(Math.round(a) + 1, Math.round(b))] : undefined;
}

/** Axes of a topology: no machine has more. */
const MAX_AXES = 16;
/** Views side by side, besides the first. */
export const MAX_BESIDE = 5;

function numbers(value: unknown, most: number): unknown {
  return Array.isArray(value) && 0 < value.length && value.length <= most && value.every((v) => index(v) !== undefined) ? value : undefined;
}

function part(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [low, high] = value as unknown[];
  return typeof low === "number" && typeof high === "number" && 0 <= low && low <= high && high <= 1 ? value : undefined;
}

function views(value: unknown): unknown {
  if (!Array.isArray(value) || MAX_BESIDE < value.length) return undefined;
  const good = (view: unknown): boolean => typeof view === "object" && view !== null && "metric" in view && typeof view.metric === "string" && "call_path" in view && Array.isArray(view.call_path) && view.call_path.every((v) => typeof v === "string");
  return value.length === 0 ? null : value.every(good) ? value : undefined;
}

function names(value: unknown): unknown {
  if (typeof value === "string") return value === "" ? null : value.split("/");
  return Array.isArray(value) && 0 < value.length && value.every((v) => typeof v === "string") ? value : undefined;
}
