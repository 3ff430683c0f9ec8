// Marks of a stage that are no bodies: labels, axes, arrows of forces, centres of mass, the grid.
import * as T from "three";
import { arrow } from "dalembert/solids.js";

/** A text that faces the eye, with a rim of another colour if one is given; `pixels` is its height on the screen. */
export function label(text, color, pixels = 15, rim = null) {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d"), size = 44;
  g.font = `600 ${size}px system-ui, sans-serif`;
  canvas.width = Math.ceil(g.measureText(text).width) + 16;
  canvas.height = size + 16;
  g.font = `600 ${size}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  g.lineJoin = "round";
  if (rim) {
    g.strokeStyle = rim;
    g.lineWidth = 14;
    g.strokeText(text, 8, canvas.height / 2);
  }
  g.fillStyle = color;
  g.fillText(text, 8, canvas.height / 2);
  const map = new T.CanvasTexture(canvas);
  map.colorSpace = "srgb";
  const sprite = new T.Sprite(new T.SpriteMaterial({ map, depthTest: false, transparent: true }));
  sprite.userData = { pixels, aspect: canvas.width / canvas.height, text };
  sprite.renderOrder = 10;
  return sprite;
}

/** The sign of a centre of mass: a circle in four quarters. */
export function massSign() {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
  canvas.width = canvas.height = 64;
  for (let k = 0; k < 4; k++) {
    g.beginPath();
    g.moveTo(32, 32);
    g.arc(32, 32, 28, k * Math.PI / 2, (k + 1) * Math.PI / 2);
    g.fillStyle = k % 2 ? "#fff" : "#222";
    g.fill();
  }
  g.beginPath();
  g.arc(32, 32, 28, 0, 2 * Math.PI);
  g.lineWidth = 4;
  g.strokeStyle = "#222";
  g.stroke();
  const sprite = new T.Sprite(new T.SpriteMaterial({ map: new T.CanvasTexture(canvas), depthTest: false }));
  sprite.userData = { pixels: 15, aspect: 1 };
  sprite.renderOrder = 9;
  return sprite;
}

const AXES = ["#d62728", "#2ca02c", "#1f5fd0"];

/** Three arrows along x, y and z. */
export function triad(length, radius, names = false) {
  const group = new T.Group();
  AXES.forEach((color, k) => {
    const mesh = new T.Mesh(arrow(radius, length), new T.MeshBasicMaterial({ color }));
    if (k === 0) mesh.rotation.y = Math.PI / 2;
    if (k === 1) mesh.rotation.x = -Math.PI / 2;
    group.add(mesh);
    if (names) {
      const text = label("xyz"[k], color, 14);
      text.position.setComponent(k, 1.22 * length);
      group.add(text);
    }
  });
  return group;
}

/** The arrow of a force (one head) or a moment (two heads), from the origin along z. */
export function vectorArrow(length, radius, color, moment) {
  const group = new T.Group(), material = new T.MeshStandardMaterial({ color, roughness: 0.5, emissive: color, emissiveIntensity: 0.35 });
  group.add(new T.Mesh(arrow(radius, length), material));
  if (moment) {
    const second = new T.Mesh(arrow(radius, Math.max(length - 3 * radius, 0.5 * length)), material);
    group.add(second);
  }
  return group;
}

/** A length of 1, 2 or 5 times a power of ten, near to x from below. */
export function roundLength(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [5, 2, 1].find(k => k * power <= x * (1 + 1e-9));
}

/** A grid in a plane that fades towards its edge: lines at multiples of `step` about `middle`, (u, v) spanning it. */
export function grid(middle, u, v, step, count, color, strength) {
  const position = [], colors = [], c = new T.Color(color), pieces = 24;
  const fade = (a, b) => strength * Math.max(0, 1 - Math.hypot(a, b) / (count * step)) ** 1.3;
  for (let i = -count; i <= count; i++) {
    for (const swap of [false, true]) {
      for (let k = 0; k < pieces; k++) {
        for (const e of [k, k + 1]) {
          const s = (2 * e / pieces - 1) * count * step, [a, b] = swap ? [s, i * step] : [i * step, s];
          position.push(...[0, 1, 2].map(j => middle.getComponent(j) + a * u.getComponent(j) + b * v.getComponent(j)));
          colors.push(c.r, c.g, c.b, fade(a, b));
        }
      }
    }
  }
  const geometry = new T.BufferGeometry();
  geometry.setAttribute("position", new T.Float32BufferAttribute(position, 3));
  geometry.setAttribute("color", new T.Float32BufferAttribute(colors, 4));
  const lines = new T.LineSegments(geometry, new T.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
  lines.renderOrder = -2;
  return lines;
}
