import { NOTHING } from "../data/paths.ts";

/** Numbers of call paths by row and bin, and where they lie in time. */
export interface Image {
  ids: Uint32Array;
  n_bins: number;
  n_rows: number;
  start_ns: number;
  bin_ns: number;
}

/** No row there. */
export const NO_ROW = 0xffff;

/** Draws an image of call paths through a palette; recolouring uploads the palette alone. */
export interface Painter {
  readonly kind: "webgl2" | "canvas";
  image(image: Image): void;
  palette(rgba: Uint8Array): void;
  /** Bins from `offset` on, `perPixel` each device pixel; `rows` names the image's row of each line of pixels. */
  draw(offset: number, perPixel: number, rows: Uint16Array): void;
}

const VERTEX = `#version 300 es
void main() { vec2 p = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2); gl_Position = vec4(2.0 * p - 1.0, 0, 1); }`;
const FRAGMENT = `#version 300 es
precision highp float; precision highp int; precision highp usampler2D;
uniform usampler2D ids; uniform usampler2D rows; uniform sampler2D palette;
uniform float offset; uniform float per_pixel; uniform int height;
out vec4 colour;
void main() {
  uint row = texelFetch(rows, ivec2(0, height - 1 - int(gl_FragCoord.y)), 0).r;
  int bin = int(floor(offset + gl_FragCoord.x * per_pixel));
  ivec2 size = textureSize(ids, 0);
  colour = vec4(0);
  if (int(row) >= size.y || bin < 0 || bin >= size.x) return;
  uint id = texelFetch(ids, ivec2(bin, int(row)), 0).r;
  ivec2 of = textureSize(palette, 0);
  if (id >= uint(of.x * of.y)) return;
  colour = texelFetch(palette, ivec2(int(id) % of.x, int(id) / of.x), 0);
}`;
const PALETTE_WIDTH = 1024;

export function painterFor(canvas: HTMLCanvasElement): Painter {
  const forced = new URLSearchParams(location.search).get("painter");
  const gl = forced === "canvas" ? null : canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
  return gl ? new GlPainter(gl) : new CanvasPainter(canvas);
}

/** Starts what draws, whose first use takes a tenth of a second, while there is nothing to draw yet. */
export function warmUp(): void {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const painter = painterFor(canvas);
  painter.image({ ids: new Uint32Array(1), n_bins: 1, n_rows: 1, start_ns: 0, bin_ns: 1 });
  painter.palette(new Uint8Array(4));
  painter.draw(0, 1, new Uint16Array(1));
}

export function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("no shader");
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "program");
  return made;
}

class GlPainter implements Painter {
  readonly kind = "webgl2";
  private readonly gl: WebGL2RenderingContext;
  private readonly made: WebGLProgram;
  private readonly textures: WebGLTexture[];

  constructor(gl: WebGL2RenderingContext) {
    this.gl = gl;
    this.made = program(gl, VERTEX, FRAGMENT);
    gl.useProgram(this.made);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.textures = ["ids", "rows", "palette"].map((name, unit) => {
      gl.uniform1i(gl.getUniformLocation(this.made, name), unit);
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      for (const which of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, which, gl.NEAREST);
      return texture;
    });
  }

  image({ ids, n_bins, n_rows }: Image): void {
    const gl = this.bind(0);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32UI, n_bins, n_rows, 0, gl.RED_INTEGER, gl.UNSIGNED_INT, ids);
  }

  palette(rgba: Uint8Array): void {
    const gl = this.bind(2);
    const height = Math.max(1, Math.ceil(rgba.length / 4 / PALETTE_WIDTH));
    const padded = new Uint8Array(4 * PALETTE_WIDTH * height);
    padded.set(rgba);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, PALETTE_WIDTH, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, padded);
  }

  draw(offset: number, perPixel: number, rows: Uint16Array): void {
    const gl = this.bind(1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R16UI, 1, rows.length, 0, gl.RED_INTEGER, gl.UNSIGNED_SHORT, rows);
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.uniform1f(gl.getUniformLocation(this.made, "offset"), offset);
    gl.uniform1f(gl.getUniformLocation(this.made, "per_pixel"), perPixel);
    gl.uniform1i(gl.getUniformLocation(this.made, "height"), rows.length);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  private bind(unit: number): WebGL2RenderingContext {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.textures[unit] ?? null);
    return this.gl;
  }
}

/** Without WebGL2: the same, pixel by pixel. */
class CanvasPainter implements Painter {
  readonly kind = "canvas";
  private readonly canvas: HTMLCanvasElement;
  private held: Image | null = null;
  private rgba = new Uint32Array(1);

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
  }

  image(image: Image): void {
    this.held = image;
  }

  palette(rgba: Uint8Array): void {
    this.rgba = new Uint32Array(rgba.slice().buffer);
  }

  draw(offset: number, perPixel: number, rows: Uint16Array): void {
    const { width, height } = this.canvas;
    const context = this.canvas.getContext("2d");
    const image = this.held;
    if (!context || !image || width === 0 || height === 0) return;
    const picture = context.createImageData(width, height);
    const pixels = new Uint32Array(picture.data.buffer);
    const bins = Int32Array.from({ length: width }, (_, x) => Math.floor(offset + (x + 0.5) * perPixel));
    for (let y = 0; y < height; y += 1) {
      const row = rows[y] ?? NO_ROW;
      if (image.n_rows <= row) continue;
      for (let x = 0; x < width; x += 1) {
        const bin = bins[x] ?? -1;
        if (bin < 0 || image.n_bins <= bin) continue;
        const id = image.ids[row * image.n_bins + bin] ?? NOTHING;
        pixels[y * width + x] = this.rgba[id] ?? 0;
      }
    }
    context.putImageData(picture, 0, 0);
  }
}
