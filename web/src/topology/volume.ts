import { scale } from "../colour/palettes.ts";
import type { Grid } from "../data/types.ts";
import { program } from "../timeline/painter.ts";
import { march, rayAt, type Box, type Camera } from "./ray.ts";

export interface Pick3 { place: number[]; value: number }
export interface Look { palette: string; least: number; fixed: number[]; ranks: Set<number> | null }

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

/** Values on a grid of up to three axes at once, as cubes walked by rays. */
export class VolumeView {
  private readonly gl: WebGL2RenderingContext | null;
  private readonly made: WebGLProgram | null = null;
  private grid: Grid | null = null;
  private values: Float64Array = new Float64Array();
  private look_: Look = { palette: "cividis", least: 0, fixed: [], ranks: null };
  private camera: Camera = { yaw: 0.6, pitch: 0.5, zoom: 1.02 };
  private box: Box = { size: [1, 1, 1], solid: () => false };
  private ranks = new Map<number, number>();
  private readonly resized: ResizeObserver;
  private dragged: { x: number; y: number } | null = null;
  private readonly canvas: HTMLCanvasElement;
  private readonly onPick: (pick: Pick3 | null) => void;

  constructor(canvas: HTMLCanvasElement, onPick: (pick: Pick3 | null) => void) {
    this.canvas = canvas;
    this.onPick = onPick;
    this.gl = canvas.getContext("webgl2", { preserveDrawingBuffer: true, premultipliedAlpha: true });
    if (this.gl) this.made = program(this.gl, VERTEX, FRAGMENT);
    canvas.addEventListener("pointerdown", (event) => { this.dragged = { x: event.clientX, y: event.clientY }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => (this.dragged = null));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.camera.zoom = Math.min(3, Math.max(0.1, this.camera.zoom * Math.exp(0.002 * event.deltaY))); this.draw(); }, { passive: false });
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(canvas);
  }

  dispose(): void {
    this.resized.disconnect();
  }

  show(grid: Grid, values: Float64Array): void {
    this.grid = grid;
    this.values = values;
    this.ranks = new Map(grid.position_of_rank.flatMap((place, rank) => (place ? [[this.index(place), rank] as [number, number]] : [])));
    this.upload();
  }

  look(look: Look): void {
    this.look_ = look;
    this.upload();
  }

  rankAt(place: number[]): number | undefined {
    return this.ranks.get(this.index(place));
  }

  /** The last axis runs fastest. */
  private index(place: number[]): number {
    return (this.grid?.dims ?? []).reduce((sum, dim, i) => sum * dim.size + (place[i] ?? 0), 0);
  }

  private upload(): void {
    const { grid, gl } = this;
    if (!grid) return;
    const [w = 1, h = 1, d = 1] = grid.dims.map((dim) => dim.size);
    const finite = this.values.filter(Number.isFinite);
    const [low, high] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
    const bytes = new Uint8Array(2 * w * h * d);
    for (let z = 0; z < d; z += 1) for (let y = 0; y < h; y += 1) for (let x = 0; x < w; x += 1) {
      const index = this.index([x, y, z, ...this.look_.fixed]);
      const value = this.values[index] ?? NaN;
      const part = high <= low ? 0.5 : (value - low) / (high - low);
      const at = 2 * ((z * h + y) * w + x);
      const rank = this.ranks.get(index);
      const pale = this.look_.ranks !== null && (rank === undefined || !this.look_.ranks.has(rank));
      if (!Number.isFinite(value) || part < this.look_.least) continue;
      bytes[at] = Math.round(255 * part);
      bytes[at + 1] = pale ? 128 : 255;
    }
    this.box = { size: [w, h, d], solid: (x, y, z) => 0 < (bytes[2 * ((z * h + y) * w + x) + 1] ?? 0) };
    if (!gl) return;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.texture(0, gl.TEXTURE_3D, gl.NEAREST);
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.RG8, w, h, d, 0, gl.RG, gl.UNSIGNED_BYTE, bytes);
    const colours = new Uint8Array(256 * 4);
    for (let i = 0; i < 256; i += 1) colours.set([...scale(this.look_.palette, i / 255), 255], 4 * i);
    this.texture(1, gl.TEXTURE_2D, gl.LINEAR);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
    this.draw();
  }

  private texture(unit: number, kind: number, filter: number): void {
    const gl = this.gl;
    if (!gl) return;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(kind, gl.createTexture());
    gl.texParameteri(kind, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(kind, gl.TEXTURE_MAG_FILTER, filter);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(kind, wrap, gl.CLAMP_TO_EDGE);
  }

  draw(): void {
    const { gl, made, canvas } = this;
    const factor = Math.min(2, devicePixelRatio || 1);
    [canvas.width, canvas.height] = [Math.max(1, canvas.clientWidth * factor), Math.max(1, canvas.clientHeight * factor)];
    if (!gl || !made || !this.grid) return;
    gl.useProgram(made);
    gl.viewport(0, 0, canvas.width, canvas.height);
    const at = (name: string) => gl.getUniformLocation(made, name);
    gl.uniform1i(at("cells"), 0);
    gl.uniform1i(at("palette"), 1);
    gl.uniform3fv(at("size"), this.box.size);
    gl.uniform2f(at("screen"), canvas.width, canvas.height);
    gl.uniform1f(at("zoom"), this.camera.zoom);
    gl.uniformMatrix3fv(at("turn"), false, rayAt(this.camera, this.box.size, 0, 0).turn);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  private move(event: PointerEvent): void {
    if (this.dragged) {
      this.camera.yaw -= 0.008 * (event.clientX - this.dragged.x);
      this.camera.pitch = Math.max(-1.55, Math.min(1.55, this.camera.pitch + 0.008 * (event.clientY - this.dragged.y)));
      this.dragged = { x: event.clientX, y: event.clientY };
      return this.draw();
    }
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const { origin, ray } = rayAt(this.camera, this.box.size, (event.offsetX - w / 2) / Math.min(w, h), (h / 2 - event.offsetY) / Math.min(w, h));
    const cell = march(this.box, origin, ray);
    const place = cell ? [...cell.slice(0, Math.min(3, this.grid?.dims.length ?? 3)), ...(this.grid?.dims.slice(3).map((_, i) => this.look_.fixed[i] ?? 0) ?? [])] : null;
    this.onPick(place ? { place, value: this.values[this.index(place)] ?? NaN } : null);
  }
}
