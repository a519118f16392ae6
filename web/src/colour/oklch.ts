/** Colours as `ouzel plot` makes them (crates/plot/src/colour.rs): in OKLCH, where equal steps look equal. */

export type Rgb = readonly [number, number, number];

/** After B. Ottosson, *A perceptual color space for image processing* (2020). What sRGB lacks is clipped. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (x: number) => {
    const clamped = Math.min(1, Math.max(0, x));
    const gamma = clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * clamped ** (1 / 2.4) - 0.055;
    return Math.round(gamma * 255);
  };
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

export function css([r, g, b]: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

/** The colour that `#rrggbb` is; an opacity after it is left out. */
export function fromCss(text: string): Rgb | null {
  if (!/^#[0-9a-f]{6}([0-9a-f]{2})?$/i.test(text)) return null;
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;
}

/** Whether black text on it reads better than white: BT.601. */
export function isLight([r, g, b]: Rgb): boolean {
  return 135 < (299 * r + 587 * g + 114 * b) / 1000;
}

const MASK = (1n << 64n) - 1n;

/** FNV-1a over the name's UTF-8, then mixed, as in `ouzel plot`. */
export function hash(text: string): bigint {
  let fnv = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) fnv = ((fnv ^ BigInt(byte)) * 0x100000001b3n) & MASK;
  const mixed = ((fnv ^ (fnv >> 31n)) * 0x9e3779b97f4a7c15n) & MASK;
  return mixed ^ (mixed >> 29n);
}

/** The colour of a region by its name alone: work is light, communication dark and reddish. */
export function ofRegion(name: string, category: string): Rgb {
  const bits = hash(name);
  const part = (shift: bigint) => Number((bits >> shift) & 0xffffn) / 65535;
  const [hue, step, chroma] = [part(0n), part(16n), part(32n)];
  if (/^P?MPI_/.test(name) && /^synchron/.test(category)) return oklch(0.3 + 0.18 * step, 0.07 + 0.08 * chroma, 330 + 50 * hue);
  if (/^P?MPI_/.test(name)) return oklch(0.44 + 0.18 * step, 0.08 + 0.11 * chroma, 2 + 56 * hue);
  if (category === "computation") return oklch(0.78 + 0.11 * step, 0.06 + 0.05 * chroma, 75 + 245 * hue);
  return oklch(0.58 + 0.1 * step, 0.1 + 0.05 * chroma, 150 + 160 * hue);
}

const COMPUTATION = [[0.63, 0.22, 27], [0.86, 0.16, 92], [0.5, 0.11, 52], [0.74, 0.17, 58], [0.45, 0.15, 25], [0.8, 0.1, 70]] as const;
const WAIT = [[0.7, 0.17, 148], [0.55, 0.17, 255], [0.83, 0.11, 200], [0.48, 0.11, 152], [0.72, 0.12, 235], [0.84, 0.16, 135]] as const;
const SYNCHRONISATION = [[0.45, 0.2, 305], [0.62, 0.18, 315], [0.76, 0.12, 310]] as const;

/** The colour of the `n`-th call path of its category: computation red to yellow, waiting green and blue, synchronisation purple. */
export function ofCategory(category: string, n: number): Rgb {
  const scale = /^synchron/.test(category) ? SYNCHRONISATION : /^wait/.test(category) ? WAIT : COMPUTATION;
  const [lightness, chroma, hue] = scale[n % scale.length] ?? scale[0];
  return oklch(lightness, chroma, hue);
}
