/** The walk of a ray through cubes, as the shader does it: for picking. */

export type Vec3 = [number, number, number];
export interface Camera { yaw: number; pitch: number; zoom: number }
export interface Box { size: Vec3; solid: (x: number, y: number, z: number) => boolean }

/** The ray of a place on the screen, from its middle in parts of its smaller side; and the camera's turn, by columns. */
export function rayAt(camera: Camera, size: Vec3, x: number, y: number): { origin: Vec3; ray: Vec3; turn: number[] } {
  const [cy, sy, cp, sp] = [Math.cos(camera.yaw), Math.sin(camera.yaw), Math.cos(camera.pitch), Math.sin(camera.pitch)];
  const right: Vec3 = [cy, 0, -sy];
  const up: Vec3 = [-sy * sp, cp, -cy * sp];
  const back: Vec3 = [sy * cp, sp, cy * cp];
  const far = Math.hypot(...size);
  const origin = [0, 1, 2].map((i) => (right[i] ?? 0) * x * far * camera.zoom + (up[i] ?? 0) * y * far * camera.zoom + (back[i] ?? 0) * far + (size[i] ?? 0) / 2) as Vec3;
  return { origin, ray: back.map((c) => -c) as Vec3, turn: [...right, ...up, ...back] };
}

/** The first solid cube on a ray. */
export function march(box: Box, origin: Vec3, ray: Vec3): Vec3 | null {
  return hit(box, origin, ray)?.cell ?? null;
}

/** The first solid cube on a ray, and the axis that the side is normal to by which the ray enters it. */
export function hit(box: Box, origin: Vec3, ray: Vec3): { cell: Vec3; axis: number } | null {
  const safe = ray.map((c) => (Math.abs(c) < 1e-6 ? 1e-6 : c)) as Vec3;
  const a = safe.map((c, i) => -(origin[i] ?? 0) / c);
  const b = safe.map((c, i) => ((box.size[i] ?? 0) - (origin[i] ?? 0)) / c);
  const enter = a.map((v, i) => Math.min(v, b[i] ?? v));
  let t = Math.max(0, ...enter);
  let axis = enter.indexOf(Math.max(...enter));
  const end = Math.min(...a.map((v, i) => Math.max(v, b[i] ?? v)));
  while (t < end) {
    const cell = safe.map((c, i) => Math.min((box.size[i] ?? 1) - 1, Math.max(0, Math.floor((origin[i] ?? 0) + c * (t + 1e-4))))) as Vec3;
    if (box.solid(...cell)) return { cell, axis };
    const next = safe.map((c, i) => ((cell[i] ?? 0) + (0 < c ? 1 : 0) - (origin[i] ?? 0)) / c);
    axis = next.indexOf(Math.min(...next));
    t = Math.max(Math.min(...next), t + 1e-4);
  }
  return null;
}
