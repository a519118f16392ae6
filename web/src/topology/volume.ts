import { scale } from "../colour/palettes.ts";
import type { Placed } from "../data/types.ts";
import { program } from "../timeline/painter.ts";
import { hit, rayAt, type Box, type Camera, type Vec3 } from "./ray.ts";

/** A place under the pointer. */
export interface Pick3 { place: number[]; value: number; rank: number | null }

/** How severities are shown. */
export interface Look {
  palette: string;
  /** The part of the severities that is drawn, from 0 to 1. */
  opaque: readonly [number, number];
  /** Numbers of the axes along x, y and z. */
  axes: number[];
  /** The place along each axis that is not shown. */
  slices: number[];
  /** Ranks that are lit; the others are pale. */
  ranks: Set<number> | null;
}

const VERTEX = `#version 300 es
void main() { vec2 p = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2); gl_Position = vec4(2.0 * p - 1.0, 0, 1); }`;
/** Walks from cube to cube along the ray (Amanatides and Woo, 1987); gaps and shading are drawn here. */
const FRAGMENT = `#version 300 es
precision highp float; precision highp int; precision highp sampler3D;
uniform sampler3D cells; uniform sampler2D palette; uniform vec3 size; uniform vec2 screen; uniform float zoom; uniform mat3 turn;
out vec4 colour;
void main() {
  vec2 at = (gl_FragCoord.xy - 0.5 * screen) / min(screen.x, screen.y);
  float far = length(size);
  vec3 origin = turn * vec3(at * far * zoom, far) + 0.5 * size;
  vec3 ray = turn * vec3(0, 0, -1);
  ray = mix(ray, vec3(1e-6), lessThan(abs(ray), vec3(1e-6)));
  vec3 a = -origin / ray, b = (size - origin) / ray;
  vec3 enter = min(a, b), leave = max(a, b);
  float t = max(max(enter.x, enter.y), max(enter.z, 0.0));
  float end = min(leave.x, min(leave.y, leave.z));
  colour = vec4(0);
  if (end <= t) return;
  ivec3 cell = clamp(ivec3(floor(origin + ray * (t + 1e-4))), ivec3(0), ivec3(size) - 1);
  vec3 next = (vec3(cell) + step(0.0, ray) - origin) / ray, delta = abs(1.0 / ray);
  vec3 normal = vec3(equal(enter, vec3(max(enter.x, max(enter.y, enter.z)))));
  for (int i = 0; i < 1024; i++) {
    vec2 value = texelFetch(cells, cell, 0).rg;
    if (value.g > 0.0) {
      vec3 inside = abs(fract(origin + ray * (t + 1e-4)) - 0.5) * (1.0 - normal);
      float edge = smoothstep(0.42, 0.48, max(inside.x, max(inside.y, inside.z)));
      float light = 0.72 + 0.28 * abs(dot(normal, vec3(0.35, 0.9, 0.55)));
      colour = vec4(texture(palette, vec2(value.r, 0.5)).rgb * light * (1.0 - 0.4 * edge), 1) * (value.g < 0.75 ? 0.25 : 1.0);
      return;
    }
    float least = min(next.x, min(next.y, next.z));
    if (end <= least) return;
    normal = vec3(equal(next, vec3(least)));
    t = least;
    cell += ivec3(normal) * ivec3(sign(ray));
    next += normal * delta;
    if (any(lessThan(cell, ivec3(0))) || any(greaterThanEqual(cell, ivec3(size)))) return;
  }
}`;
/** Pixels of a side of a square that the fallback computes at once. */
const COARSE = 3;

/** One camera for all volumes: who turns one, turns all. */
export class SharedCamera implements Camera {
  yaw = 0.6;
  pitch = 0.5;
  zoom = 1.02;
  private readonly views = new Set<() => void>();

  follow(draw: () => void): () => void {
    this.views.add(draw);
    return () => this.views.delete(draw);
  }

  set(change: Partial<Camera>): void {
    Object.assign(this, change);
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch));
    this.zoom = Math.min(3, Math.max(0.1, this.zoom));
    for (const draw of this.views) draw();
  }
}

/** Which way a key turns. */
const KEYS: Record<string, [keyof Camera, number]> = { ArrowLeft: ["yaw", 0.1], ArrowRight: ["yaw", -0.1], ArrowUp: ["pitch", 0.1], ArrowDown: ["pitch", -0.1], Equal: ["zoom", -0.1], Minus: ["zoom", 0.1] };

/** Values on a grid, three axes at once, as cubes walked by rays. */
export class VolumeView {
  private readonly gl: WebGL2RenderingContext | null;
  private readonly flat: CanvasRenderingContext2D | null;
  private readonly made: WebGLProgram | null = null;
  private readonly textures: WebGLTexture[] = [];
  private placed: Placed | null = null;
  private look_: Look = { palette: "cividis", opaque: [0, 1], axes: [], slices: [], ranks: null };
  private cells = new Uint8Array(2);
  private box: Box = { size: [1, 1, 1], solid: () => false };
  private readonly resized: ResizeObserver;
  private dragged: { x: number; y: number } | null = null;
  private readonly canvas: HTMLCanvasElement;
  private readonly camera: SharedCamera;
  private readonly onPick: (pick: Pick3 | null) => void;
  private readonly leave: () => void;

  constructor(canvas: HTMLCanvasElement, camera: SharedCamera, onPick: (pick: Pick3 | null) => void) {
    this.canvas = canvas;
    this.camera = camera;
    this.onPick = onPick;
    const avoids = new URLSearchParams(location.search).get("painter") === "canvas";
    this.gl = avoids ? null : canvas.getContext("webgl2", { preserveDrawingBuffer: true, premultipliedAlpha: true });
    this.flat = this.gl ? null : canvas.getContext("2d");
    if (this.gl) {
      this.made = program(this.gl, VERTEX, FRAGMENT);
      this.textures = [this.gl.createTexture(), this.gl.createTexture()];
    }
    canvas.addEventListener("pointerdown", (event) => { this.dragged = { x: event.clientX, y: event.clientY }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => (this.dragged = null));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", () => this.onPick(null));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); camera.set({ zoom: camera.zoom * Math.exp(0.002 * event.deltaY) }); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const [what, by] = KEYS[event.code] ?? [];
      if (what === undefined || by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      camera.set({ [what]: camera[what] + by });
    });
    this.leave = camera.follow(() => this.draw());
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(canvas);
  }

  dispose(): void {
    this.leave();
    this.resized.disconnect();
    this.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }

  show(placed: Placed, look: Look): void {
    this.placed = placed;
    this.look_ = look;
    this.upload();
  }

  /** The number of a place; the last axis runs fastest. */
  private index(place: number[]): number {
    return (this.placed?.axes ?? []).reduce((sum, axis, i) => sum * axis.size + (place[i] ?? 0), 0);
  }

  /** The place of a cube that is shown. */
  private placeOf(cell: readonly number[]): number[] {
    const { axes, slices } = this.look_;
    return (this.placed?.axes ?? []).map((_, i) => (axes.includes(i) ? (cell[axes.indexOf(i)] ?? 0) : (slices[i] ?? 0)));
  }

  private upload(): void {
    const { placed } = this;
    if (!placed) return;
    const { axes, opaque, ranks } = this.look_;
    const size = [0, 1, 2].map((i) => placed.axes[axes[i] ?? -1]?.size ?? 1) as Vec3;
    const [low, high] = extent(placed);
    const [w, h, d] = size;
    const cells = new Uint8Array(2 * w * h * d);
    for (let z = 0; z < d; z += 1) for (let y = 0; y < h; y += 1) for (let x = 0; x < w; x += 1) {
      const index = this.index(this.placeOf([x, y, z]));
      const value = placed.values[index] ?? null;
      if (value === null) continue;
      const part = high <= low ? 0.5 : (value - low) / (high - low);
      if (part < opaque[0] || opaque[1] < part) continue;
      const rank = placed.ranks[index] ?? null;
      const at = 2 * ((z * h + y) * w + x);
      cells[at] = Math.round(255 * part);
      cells[at + 1] = ranks !== null && (rank === null || !ranks.has(rank)) ? 128 : 255;
    }
    this.cells = cells;
    this.box = { size, solid: (x, y, z) => 0 < (cells[2 * ((z * h + y) * w + x) + 1] ?? 0) };
    const { gl } = this;
    if (gl) {
      gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
      this.texture(0, gl.TEXTURE_3D, gl.NEAREST);
      gl.texImage3D(gl.TEXTURE_3D, 0, gl.RG8, w, h, d, 0, gl.RG, gl.UNSIGNED_BYTE, cells);
      const colours = new Uint8Array(256 * 4);
      for (let i = 0; i < 256; i += 1) colours.set([...scale(this.look_.palette, i / 255), 255], 4 * i);
      this.texture(1, gl.TEXTURE_2D, gl.LINEAR);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
    }
    this.draw();
  }

  private texture(unit: number, kind: number, filter: number): void {
    const { gl } = this;
    if (!gl) return;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(kind, this.textures[unit] ?? null);
    gl.texParameteri(kind, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(kind, gl.TEXTURE_MAG_FILTER, filter);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(kind, wrap, gl.CLAMP_TO_EDGE);
  }

  draw(): void {
    const { gl, made, canvas } = this;
    const factor = Math.min(2, devicePixelRatio || 1);
    [canvas.width, canvas.height] = [Math.max(1, Math.round(canvas.clientWidth * factor)), Math.max(1, Math.round(canvas.clientHeight * factor))];
    if (!gl || !made) return this.drawFlat();
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.placed) return;
    gl.useProgram(made);
    const at = (name: string) => gl.getUniformLocation(made, name);
    gl.uniform1i(at("cells"), 0);
    gl.uniform1i(at("palette"), 1);
    gl.uniform3fv(at("size"), this.box.size);
    gl.uniform2f(at("screen"), canvas.width, canvas.height);
    gl.uniform1f(at("zoom"), this.camera.zoom);
    gl.uniformMatrix3fv(at("turn"), false, rayAt(this.camera, this.box.size, 0, 0).turn);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Without WebGL2: the same walk here, for squares of pixels. */
  private drawFlat(): void {
    const { flat, canvas } = this;
    if (!flat || !this.placed) return;
    const [w, h] = [canvas.width, canvas.height];
    const [nx, ny] = this.box.size;
    for (let y = 0; y < h; y += COARSE) for (let x = 0; x < w; x += COARSE) {
      const found = hit(this.box, ...this.ray(x - w / 2, h / 2 - y, Math.min(w, h)));
      if (!found) continue;
      const at = 2 * ((found.cell[2] * ny + found.cell[1]) * nx + found.cell[0]);
      const light = 0.72 + 0.28 * ([0.35, 0.9, 0.55][found.axis] ?? 0);
      const [r, g, b] = scale(this.look_.palette, (this.cells[at] ?? 0) / 255).map((c) => Math.round(c * light));
      flat.fillStyle = `rgba(${r}, ${g}, ${b}, ${(this.cells[at + 1] ?? 0) < 192 ? 0.25 : 1})`;
      flat.fillRect(x, y, COARSE, COARSE);
    }
  }

  private ray(x: number, y: number, side: number): [Vec3, Vec3] {
    const { origin, ray } = rayAt(this.camera, this.box.size, x / side, y / side);
    return [origin, ray];
  }

  private move(event: PointerEvent): void {
    if (this.dragged) {
      const [dx, dy] = [event.clientX - this.dragged.x, event.clientY - this.dragged.y];
      this.dragged = { x: event.clientX, y: event.clientY };
      return this.camera.set({ yaw: this.camera.yaw - 0.008 * dx, pitch: this.camera.pitch + 0.008 * dy });
    }
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const found = hit(this.box, ...this.ray(event.offsetX - w / 2, h / 2 - event.offsetY, Math.min(w, h)));
    if (!found || !this.placed) return this.onPick(null);
    const place = this.placeOf(found.cell);
    const index = this.index(place);
    this.onPick({ place, value: this.placed.values[index] ?? NaN, rank: this.placed.ranks[index] ?? null });
  }
}

/** The least and the greatest value. */
export function extent(placed: Placed): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of placed.values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/** Ranks whose severity lies in a part of the extent. */
export function ranksWithin(placed: Placed, [from, to]: readonly [number, number]): number[] {
  const [low, high] = extent(placed);
  const ranks = placed.values.flatMap((value, i) => {
    const rank = placed.ranks[i] ?? null;
    const part = value === null ? NaN : high <= low ? 0.5 : (value - low) / (high - low);
    return rank !== null && from <= part && part <= to ? [rank] : [];
  });
  return [...new Set(ranks)];
}
