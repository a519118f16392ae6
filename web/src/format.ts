/** Numbers for people. */

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** A duration with about `digits` digits: `575.6 ms`. */
export function duration(ns: number, digits = 4): string {
  if (!Number.isFinite(ns)) return "–";
  if (ns === 0) return "0 s";
  const size = Math.abs(ns);
  const [unit, name] = UNITS.find(([unit]) => unit <= size) ?? [1, "ns"];
  const value = ns / unit;
  const before = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
  return `${value.toFixed(unit === 1 ? 0 : Math.max(0, digits - before))} ${name}`;
}

/** A point of time in the unit and with the digits that tell it from one `step` later. */
export function instant(ns: number, step: number): string {
  const [unit, name] = UNITS.find(([unit]) => unit <= Math.max(Math.abs(ns), step)) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
}

/** Exact nanoseconds, in groups of three. */
export function exactNs(ns: number): string {
  return `${Math.round(ns).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f")} ns`;
}

export function count(n: number): string {
  return n.toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = n;
  let i = 0;
  for (; 1024 <= Math.abs(value) && i + 1 < units.length; i += 1) value /= 1024;
  return `${Number.isInteger(value) && i === 0 ? value : value.toPrecision(3)} ${units[i]}`;
}

export function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

/** A text whose numbers stay with their units when lines are broken. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (%|[µnm]?s)(?![A-Za-z])/g, "$1\u00a0$2");
}

/** Any quantity by its unit as answers name it. */
export function quantity(value: number, unit: string): string {
  switch (unit) {
    case "ns": return duration(value);
    case "1/cycle": return `${value.toFixed(2)}/cycle`;
    case "ns/iteration": return `${duration(value)}/iteration`;
    case "sec": case "s": case "seconds": return duration(value * 1e9);
    case "bytes": case "byte": case "Bytes": case "B": return bytes(value);
    case "ratio": return value.toPrecision(4);
    case "count": case "#": case "occ": return count(value);
    case "rank": return `rank ${value}`;
    default: return `${Number.isInteger(value) ? count(value) : value.toPrecision(4)}${unit ? ` ${unit}` : ""}`;
  }
}

/** Round numbers between `a` and `b`, about `n` of them; and their distance. */
export function ticks(a: number, b: number, n: number): { step: number; at: number[] } {
  const raw = (b - a) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const step = power * ([1, 2, 5, 10].find((m) => raw <= m * power) ?? 10);
  const at: number[] = [];
  for (let i = Math.ceil(a / step); i * step <= b; i += 1) at.push(i * step);
  return { step, at };
}

/** What a marker says, with what wrote it. */
export function inWords({ name, text }: { name: string; text: string }): string {
  return name !== "" && text !== "" ? `${name}: ${text}` : name + text;
}
