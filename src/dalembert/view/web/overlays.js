// What is drawn over the bodies of a stage: paths, arrows, highlights, names. Methods of the stage.
import * as T from "three";
import { label, massSign, triad, vectorArrow } from "dalembert/marks.js";

const ARROWS = { force: "#d62728", moment: "#8e44ad", velocity: "#1f77b4", input: "#e67e22" };
const Z = new T.Vector3(0, 0, 1);

export const overlays = {
  setTraces(traces) {
    this.traces.children.forEach(x => { x.geometry.dispose(); x.material.dispose(); });
    this.traces.clear();
    for (const trace of traces) {
      const flat = [];
      for (let i = 0; i < trace.points.length; i += 3) flat.push(...this.toStage(trace.points[i], trace.points[i + 1], trace.points[i + 2]).toArray());
      if (flat.length < 6) continue;
      for (const [opacity, whole] of [[0.25, true], [0.95, false]]) {
        const line = new T.Line2(new T.LineGeometry().setPositions(flat), new T.LineMaterial({ color: trace.color ?? "#7a3e9d", linewidth: 2.2, transparent: true, opacity, depthWrite: false }));
        line.userData = { whole, segments: flat.length / 3 - 1 };
        line.frustumCulled = false;
        line.renderOrder = 3;
        if (!whole) line.geometry.instanceCount = Math.max(0, Math.min((trace.done ?? flat.length / 3) - 1, flat.length / 3 - 1));
        this.traces.add(line);
      }
    }
    this.invalidate();
  },

  setDone(k) {
    for (const line of this.traces.children) {
      if (!line.userData.whole) line.geometry.instanceCount = Math.max(0, Math.min(k - 1, line.userData.segments));
    }
    this.invalidate();
  },

  setArrows(arrows) {
    this.arrows.traverse(x => { x.geometry?.dispose(); x.material?.map?.dispose(); x.material?.dispose(); });
    this.arrows.clear();
    const longest = {}, size = v => Math.hypot(...v);
    for (const a of arrows) longest[a.kind] = Math.max(longest[a.kind] ?? 0, size(a.vector));
    for (const a of arrows) {
      const scale = a.scale ?? (0.3 * this.unit) / (longest[a.kind] || 1), length = size(a.vector) * scale / this.unit;
      if (!(length > 1e-4)) continue;
      const color = a.color ?? ARROWS[a.kind] ?? "#d62728";
      const radius = Math.min(0.4 * this.scene.thickness / this.unit, 0.1 * length);
      const drawn = vectorArrow(length, radius, color, a.kind === "moment");
      const way = new T.Vector3(...a.vector).normalize();
      drawn.position.copy(this.toStage(...a.from));
      drawn.quaternion.setFromUnitVectors(Z, way);
      this.arrows.add(drawn);
      if (a.label) {
        const text = label(a.label, color, 14, this.theme.back);
        text.position.copy(drawn.position).addScaledVector(way, length + 0.03);
        this.arrows.add(text);
      }
    }
    this.invalidate();
  },

  highlight(names, color = "#ffb300") {
    const wanted = new Set(typeof names === "string" ? [names] : names ?? []);
    for (const group of this.bodies) {
      const { body, materials } = group.userData;
      for (const m of materials.values()) this.glow(m, wanted.has(body.name), color);
    }
    for (const group of this.links) this.glow(group.userData.material, wanted.has(group.userData.link.name), color);
    this.halo.children.forEach(x => x.geometry.dispose());
    this.halo.clear();
    const r = 2.4 * this.scene.thickness / this.unit;
    for (const place of [...this.scene.joints.map(j => ({ name: j.name, ...j.b })), ...this.scene.frames]) {
      if (!wanted.has(place.name)) continue;
      const ball = new T.Mesh(new T.SphereGeometry(r, 24, 16), new T.MeshBasicMaterial({ color, transparent: true, opacity: 0.45, depthTest: false }));
      ball.userData = place;
      ball.renderOrder = 8;
      this.halo.add(ball);
    }
    this.invalidate();
  },

  glow(material, on, color) {
    material.emissive.set(on ? color : "#000000");
    material.emissiveIntensity = on ? 0.75 : 1;
  },

  makeExtras() {
    this.extras.clear();
    const r = this.scene.thickness / this.unit, color = this.theme.text;
    const put = (object, body, position, quaternion) => {
      object.userData = { ...object.userData, body, position, quaternion };
      this.extras.add(object);
    };
    if (this.shown.frames) for (const f of this.scene.frames) {
      put(triad(0.12, 0.006), f.body, f.position, f.quaternion);
      put(label(f.name, color, 14, this.theme.back), f.body, f.position);
    }
    if (this.shown.mass) for (const [k, b] of this.scene.bodies.entries()) if (b.com && b.mass > 0) put(massSign(), k, b.com);
    if (this.shown.names) {
      for (const [k, b] of this.scene.bodies.entries()) if (k) put(label(b.name, this.ink(b.color), 15, this.theme.back), k, b.com ?? [0, 0, 0]);
      for (const j of this.scene.joints) if (j.glyph !== "none") put(label(j.name, color, 13, this.theme.back), j.b.body, j.b.position);
    }
    this.extras.children.forEach(x => { x.userData.lift = 1.5 * r; });
  },

  /** A body's colour as ink: dark on light, light on dark. */
  ink(color) {
    const c = new T.Color(color), hsl = c.getHSL({});
    return `#${c.setHSL(hsl.h, hsl.s, this.themeName === "dark" ? Math.max(hsl.l, 0.68) : Math.min(hsl.l, 0.34)).getHexString()}`;
  },

  /** Hide names that would cover others: those of bodies come first. */
  untangle() {
    const { width, height, eye } = this.sight, taken = [], v = new T.Vector3();
    for (const x of this.extras.children) {
      if (!x.isSprite || !x.userData.text) continue;
      v.copy(x.position).project(eye);
      const h = 1.35 * x.userData.pixels, w = h * x.userData.aspect, a = (v.x + 1) / 2 * width, b = (1 - v.y) / 2 * height;
      const free = taken.every(([c, d, u, s]) => Math.abs(a - c) > 0.46 * (w + u) || Math.abs(b - d) > 0.36 * (h + s));
      x.visible = free && v.z < 1;
      if (x.visible) taken.push([a, b, w, h]);
    }
  },

  sizeSprite(sprite) {
    const { pixels, aspect } = sprite.userData, k = pixels * 1.35 * this.sight.pixel(sprite.getWorldPosition(new T.Vector3()));
    sprite.scale.set(k * aspect, k, 1);
  },
};
