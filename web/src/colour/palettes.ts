import { css, type Rgb } from "./oklch.ts";

/** Scales of colours for values, from small to large: every eighth colour; between them, straight. */
const STOPS: Record<string, string> = {
  cividis: "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838",
  viridis: "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725",
  "green-yellow-red": "006837 1a9850 66bd63 a6d96a d9ef8b ffffbf fee08b fdae61 f46d43 d73027 a50026",
};

export const PALETTES = Object.keys(STOPS);

export function scale(name: string, part: number): Rgb {
  const stops = (STOPS[name] ?? STOPS["cividis"] ?? "").split(" ");
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [rgb(stops[low]), rgb(stops[low + 1])];
  const mix = at - low;
  return [0, 1, 2].map((i) => Math.round((a[i] ?? 0) * (1 - mix) + (b[i] ?? 0) * mix)) as unknown as Rgb;
}

export function scaleCss(name: string, part: number): string {
  return css(scale(name, part));
}

function rgb(hex = "000000"): number[] {
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}
