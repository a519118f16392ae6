interface Size {
  width: number;
  height: number;
}

const SIZES = new WeakMap<Element, Size>();
const OBSERVER = new ResizeObserver((entries) => { for (const { target } of entries) SIZES.set(target, measured(target)); });

/**
 * The size of a canvas in the page, in CSS pixels. It is asked for once, then told: between two changes of the page, an
 * answer lays all of it out anew, tables too, which took longer than everything else in a frame.
 */
export function sizeOf(canvas: HTMLCanvasElement): Size {
  const known = SIZES.get(canvas);
  if (known) return known;
  const size = measured(canvas);
  SIZES.set(canvas, size);
  OBSERVER.observe(canvas);
  return size;
}

function measured({ clientWidth, clientHeight }: Element): Size {
  return { width: clientWidth, height: clientHeight };
}
