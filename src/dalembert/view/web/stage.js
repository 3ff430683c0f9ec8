/*
A mechanism on the screen. No network, no global state; several stages may share a page.

    import { createStage } from "dalembert/stage.js";
    const stage = createStage(element, scene, options);

Modules are found by an import map: {"imports": {"three": ".../three.js", "dalembert/": ".../"}}; pages in one file get
theirs from `dalembert.view.web.packed`. `scene` is what Python's `Scene.to_dict()` gives. Lengths are metres, in the
ground's axes; quaternions are w, x, y, z; x and y on the screen are clientX and clientY of events.

options: {theme: "light" | "dark", shadows: true, controls: true, floor: height in metres along up, or null for none}

stage.setPoses(poses)            7 numbers a body (x y z w qx qy qz), in the scene's order, the ground first; array or
                                 typed array. Copied at once; drawn in the next animation frame.
stage.setScene(scene)            another scene of the same mechanism: other shapes, more bodies; the view stays
stage.extent(list of poses)      flat x y z of points that hold the machine in all of them, for camera.fit; about the body
                                 that is followed, where one is
stage.setTraces([{points, color, done, name}])   paths: flat x y z of points; `done`: how many of them are in full colour
stage.setDone(k)                 the same for all traces, quicker
stage.setArrows([{from, vector, kind, color, label, scale}])   kind "force", "moment" or other; drawn `vector` × scale
                                 metres long. Without a scale the longest of each kind is 0.3 of the machine's length.
stage.highlight(names, color?)   bodies, joints, links or frames by name; [] ends it
stage.pick(x, y)                 {body, joint, point, pointInBody, distance} or null; body and joint by name
stage.onDrag({start, move, end, hover})   start(hit) is called when a body is pressed; if it returns true, the drag is the
                                 caller's: move({body, pointInBody, target, event}) with the target in the ground, in the
                                 plane through the pressed point (the mechanism's own plane, or facing the eye); end(...).
                                 hover(hit or null, event) follows the pointer. onDrag(null) ends it.
stage.camera                     fit(points?) brings the machine (or flat x y z points) into the picture; view("front" |
                                 "back" | "left" | "right" | "top" | "bottom" | "corner"), orbit(yaw, pitch) in degrees;
                                 mode("planar" | "orbit"); follow(body name or null); get(), set(value); moved: by the user
stage.setTheme("light" | "dark")
stage.show({frames, grid, mass, names, gravity, axes, joints, links, ground, shadows})   booleans; also showFrames(on),
                                 showGrid(on), showMass(on), showNames(on), showGravity(on), showAxes(on) ...
stage.project([x, y, z])         {x, y}: where a point of the ground is on the screen, as clientX and clientY
stage.bounds()                   {low, high}: the box of all bodies now, metres
stage.screenshot()               Promise of a PNG blob
stage.render()                   draw now; stage.invalidate(): in the next frame
stage.on(name, callback)         "frame": after each drawn frame
stage.dispose()
*/
import * as T from "three";
import { coil, geometryOf } from "dalembert/solids.js";
import { gizmo } from "dalembert/gizmo.js";
import { ground } from "dalembert/ground.js";
import { overlays } from "dalembert/overlays.js";
import { pointer } from "dalembert/pointer.js";
import { Sight } from "dalembert/sight.js";

const THEMES = {
  light: { back: "#f6f8fa", line: "#5b6b7c", text: "#1d2733", strength: 0.55, sky: "#ffffff", earth: "#b9c0c8", shadow: 0.16 },
  dark: { back: "#12171d", line: "#8fa3b8", text: "#e6edf3", strength: 0.42, sky: "#dfe8f2", earth: "#39424d", shadow: 0.45 },
};
const LINKS = { rod: "#5d6670", cable: "#6b7480", muscle: "#a63a32", spring: "#7b8794", actuator: "#b06000", gap: "#c00000" };
const SHOWN = { frames: false, grid: true, mass: false, names: false, gravity: true, axes: true, joints: true, links: true, ground: true, shadows: true };
const Z = new T.Vector3(0, 0, 1);

/** What overlays.js, ground.js, gizmo.js and pointer.js add is not known to a type checker. @type {new () => any} */
const Added = class {};

class Stage extends Added {
  constructor(element, scene, options) {
    super();
    Object.assign(this, { element, scene, options, unit: scene.length || 1, dirty: false, callbacks: {}, drag: null });
    this.shown = { ...SHOWN, shadows: scene.bodies.length <= 60 };
    this.origin = [0, 0, 0];
    this.poses = new Float64Array(7 * scene.bodies.length);
    for (let k = 0; k < scene.bodies.length; k++) this.poses[7 * k + 3] = 1;
    this.renderer = new T.WebGLRenderer({ antialias: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.shadowMap.enabled = options.shadows !== false;
    this.renderer.shadowMap.type = T.PCFShadowMap;
    this.renderer.autoClear = false;
    this.canvas = this.renderer.domElement;
    this.canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:none;outline:none";
    element.append(this.canvas);
    this.world = new T.Scene();
    this.sight = new Sight(this.canvas, scene.axes, scene.planar, scene.eye, () => this.invalidate());
    if (options.controls === false) this.sight.controls.enabled = false;
    this.lights();
    this.populate();
    this.traces = new T.Group();
    this.arrows = new T.Group();
    this.extras = new T.Group();  // frames, masses, names: made when first shown
    this.halo = new T.Group();
    this.world.add(this.traces, this.arrows, this.extras, this.halo);
    this.makeGizmo();
    this.camera = this.makeCamera();
    this.watch();
    this.setTheme(options.theme ?? "light");
    this.place();
    this.camera.fit();
  }

  // --- units: (metres − origin) / unit, so that any size and place is near 1 ------------------------------------------

  toStage(x, y, z) {
    const o = this.origin, u = this.unit;
    return new T.Vector3((x - o[0]) / u, (y - o[1]) / u, (z - o[2]) / u);
  }

  toMetres(v) {
    return [0, 1, 2].map(i => v.getComponent(i) * this.unit + this.origin[i]);
  }

  vector(list) {
    return new T.Vector3(list[0] / this.unit, list[1] / this.unit, list[2] / this.unit);
  }

  // --- building -------------------------------------------------------------------------------------------------------

  populate() {
    this.bodies = this.scene.bodies.map((body, k) => this.makeBody(body, k));
    this.links = this.scene.links.map(link => this.makeLink(link));
  }

  setScene(scene) {
    for (const group of [...this.bodies, ...this.links]) {
      this.world.remove(group);
      group.traverse(x => { x.geometry?.dispose(); x.material?.dispose?.(); });
    }
    const known = this.poses;
    this.scene = scene;
    this.poses = new Float64Array(7 * scene.bodies.length);
    for (let k = 0; k < scene.bodies.length; k++) this.poses[7 * k + 3] = 1;
    this.poses.set(known.subarray(0, Math.min(known.length, this.poses.length)));
    this.populate();
    this.show({});
    this.highlight([]);
    this.place();
  }

  material(color, opacity = 1) {
    return new T.MeshStandardMaterial({ color, roughness: 0.58, metalness: 0.08, transparent: opacity < 1, opacity, side: opacity < 1 ? T.DoubleSide : T.FrontSide });
  }

  makeBody(body, index) {
    const group = new T.Group(), materials = new Map();
    group.userData = { body, index, materials };
    for (const shape of body.shapes) {
      const geometry = geometryOf(shape, this.unit);
      if (!geometry) continue;
      const key = `${shape.color ?? body.color} ${shape.opacity ?? 1}`;
      if (!materials.has(key)) materials.set(key, this.material(shape.color ?? body.color, shape.opacity ?? 1));
      const mesh = new T.Mesh(geometry, materials.get(key));
      if (shape.kind === "mesh" || shape.kind === "plane") mesh.material.side = T.DoubleSide;
      mesh.position.copy(this.vector(shape.position));
      const [w, x, y, z] = shape.quaternion;
      mesh.quaternion.set(x, y, z, w);
      mesh.castShadow = mesh.receiveShadow = true;
      mesh.userData = { index, joint: shape.joint ?? "", solid: true, floor: shape.origin === "floor" };
      if (shape.kind === "plate" || shape.kind === "box") {
        const edges = new T.LineSegments(new T.EdgesGeometry(geometry, 50), new T.LineBasicMaterial({ color: new T.Color(shape.color ?? body.color).multiplyScalar(0.45), transparent: true, opacity: 0.55 }));
        mesh.add(edges);
      }
      group.add(mesh);
    }
    this.world.add(group);
    return group;
  }

  makeLink(link) {
    const group = new T.Group(), r = this.scene.thickness / this.unit, color = LINKS[link.kind] ?? "#5d6670";
    const pieces = link.points.length - 1, material = this.material(color);
    group.userData = { link, material };
    for (let k = 0; k < pieces; k++) {
      const piece = new T.Group();
      const bar = (radius, from, to, m = material) => {
        const mesh = new T.Mesh(new T.CylinderGeometry(radius, radius, 1, 20).rotateX(Math.PI / 2).translate(0, 0, 0.5), m);
        mesh.scale.z = to - from;
        mesh.position.z = from;
        mesh.castShadow = true;
        mesh.userData = { link: link.name };
        piece.add(mesh);
      };
      if (link.kind === "spring") {
        const mesh = new T.Mesh(coil(), material);
        mesh.scale.set(0.8 * r, 0.8 * r, 1);
        mesh.castShadow = true;
        mesh.userData = { link: link.name };
        piece.add(mesh);
      } else if (link.kind === "actuator") {
        bar(0.75 * r, 0, 0.58);
        bar(0.4 * r, 0.5, 1, this.material("#d9dde2"));
      } else bar({ cable: 0.16, gap: 0.2, muscle: 0.45 }[link.kind] * r || 0.5 * r, 0, 1);
      group.add(piece);
    }
    this.world.add(group);
    return group;
  }

  makeCamera() {
    const sight = this.sight;
    return {
      fit: (points) => {
        const list = points ? [] : this.corners();
        if (points) for (let i = 0; i < points.length; i += 3) list.push(this.toStage(points[i], points[i + 1], points[i + 2]));
        this.setGrid(list);
        sight.fit(list);
      },
      view: name => sight.view(name),
      orbit: (yaw, pitch) => sight.orbit(yaw, pitch),
      mode: name => { sight.mode(name); if (this.options.controls === false) sight.controls.enabled = false; this.invalidate(); },
      follow: name => {
        sight.followed = name == null ? null : this.scene.bodies.findIndex(b => b.name === name);
        this.lastFollowed = this.bodies[sight.followed]?.position.clone() ?? null;
      },
      get: () => ({ ...sight.get(), target: this.toMetres(sight.target), position: this.toMetres(sight.eye.position) }),
      set: value => sight.set({ ...value, ...(value.target && { target: this.toStage(...value.target).toArray() }), ...(value.position && { position: this.toStage(...value.position).toArray() }) }),
      get planar() { return sight.planar; },
      get moved() { return sight.moved; },
    };
  }

  // --- what moves -----------------------------------------------------------------------------------------------------

  setPoses(poses) {
    this.poses.set(poses.length === this.poses.length ? poses : Array.from(poses).slice(0, this.poses.length));
    this.place();
  }

  place() {
    const p = this.poses;
    this.bodies.forEach((group, k) => {
      const i = 7 * k;
      group.position.copy(this.toStage(p[i], p[i + 1], p[i + 2]));
      group.quaternion.set(p[i + 4], p[i + 5], p[i + 6], p[i + 3]);
      group.updateMatrixWorld();
    });
    for (const group of this.links) this.placeLink(group);
    this.followBody();
    this.invalidate();
  }

  /** A point of a body, in stage units. */
  at(body, position) {
    return this.bodies[body].localToWorld(this.vector(position));
  }

  placeLink(group) {
    const at = group.userData.link.points.map(x => this.at(x.body, x.position));
    group.children.forEach((piece, k) => {
      const way = at[k + 1].clone().sub(at[k]), length = way.length();
      piece.visible = length > 1e-5;
      piece.position.copy(at[k]);
      if (!piece.visible) return;
      piece.quaternion.setFromUnitVectors(Z, way.divideScalar(length));
      piece.scale.z = length;
    });
  }

  followBody() {
    const k = this.sight.followed;
    if (k == null || k < 0) return;
    const here = this.bodies[k].position;
    if (this.lastFollowed) {
      const by = here.clone().sub(this.lastFollowed);
      this.sight.shift(by);
      this.followedWay ??= new T.Vector3();
      this.moveFloor(this.followedWay.add(by));
    }
    this.lastFollowed = here.clone();
  }

  // --- looks ----------------------------------------------------------------------------------------------------------

  setTheme(name) {
    this.theme = THEMES[name] ?? THEMES.light;
    this.themeName = name in THEMES ? name : "light";
    this.world.background = new T.Color(this.theme.back);
    this.sky.color.set(this.theme.sky);
    this.sky.groundColor.set(this.theme.earth);
    this.setGrid(this.gridPoints ?? []);
    this.makeExtras();
    this.invalidate();
  }

  show(what) {
    Object.assign(this.shown, what);
    this.setGrid(this.gridPoints ?? []);
    this.makeExtras();
    for (const group of this.links) group.visible = this.shown.links;
    this.bodies[0].visible = this.shown.ground;
    for (const group of this.bodies) for (const mesh of group.children) if (mesh.userData.joint) mesh.visible = this.shown.joints;
    this.sun.castShadow = this.shown.shadows;
    this.invalidate();
  }

  /** Corners of the boxes of all solids, in stage units. */
  corners() {
    const out = [], box = new T.Box3();
    for (const group of this.bodies) {
      for (const mesh of group.children) {
        if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
        box.copy(mesh.geometry.boundingBox);
        if (!Number.isFinite(box.min.x) || box.max.distanceTo(box.min) > (mesh.userData.floor ? 3 : 30)) continue;  // endless
        for (let i = 0; i < 8; i++) out.push(mesh.localToWorld(new T.Vector3(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z)));
      }
    }
    for (const link of this.scene.links) for (const x of link.points) out.push(this.at(x.body, x.position));
    return out;
  }

  extent(list) {
    const now = this.poses.slice(), out = [], k = 7 * (this.sight.followed ?? 0);  // the ground stays
    for (const poses of list) {
      this.setPoses(poses);
      for (const c of this.corners()) out.push(...this.toMetres(c).map((x, i) => x + now[k + i] - poses[k + i]));
    }
    this.setPoses(now);
    return out;
  }

  bounds() {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (const c of this.corners()) this.toMetres(c).forEach((x, i) => { low[i] = Math.min(low[i], x); high[i] = Math.max(high[i], x); });
    return { low, high };
  }

  resize() {
    const w = this.element.clientWidth || 1, h = this.element.clientHeight || 1;
    this.renderer.setSize(w, h, false);
    this.sight.resize(w, h);
    if (this.sight.points && !this.sight.moved) this.sight.fit(this.sight.points);
    this.render();
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  project(point) {
    this.sight.eye.updateMatrixWorld();
    const v = this.toStage(...point).project(this.sight.eye), box = this.canvas.getBoundingClientRect();
    return { x: box.left + (v.x + 1) / 2 * box.width, y: box.top + (1 - v.y) / 2 * box.height };
  }

  invalidate() {
    if (this.dirty || this.gone) return;
    this.dirty = true;
    requestAnimationFrame(() => this.dirty && this.render());
  }

  render() {
    this.dirty = false;
    if (this.gone) return;
    const { eye, up } = this.sight, r = this.renderer;
    for (const x of [...this.extras.children, ...this.halo.children]) {
      const { body, position, quaternion, lift } = x.userData;
      x.position.copy(this.at(body, position));
      if (quaternion) {
        x.quaternion.set(quaternion[1], quaternion[2], quaternion[3], quaternion[0]).premultiply(this.bodies[body].quaternion);
      } else if (x.isSprite && x.userData.aspect !== 1) x.position.addScaledVector(up, lift ?? 0);
    }
    if (this.shown.names || this.shown.frames) this.untangle();
    this.lamp.position.copy(eye.position);
    this.lamp.target.position.copy(this.sight.target);
    this.world.traverse(x => x.isSprite && this.sizeSprite(x));
    r.setViewport(0, 0, this.sight.width, this.sight.height);
    r.clear();
    r.render(this.world, eye);
    if (this.shown.axes) this.renderGizmo();
    this.events?.frame?.forEach(f => f());
  }

  on(name, f) {
    this.events ??= {};
    (this.events[name] ??= []).push(f);
  }

  screenshot() {
    this.render();
    return new Promise(resolve => this.canvas.toBlob(resolve, "image/png"));
  }

  dispose() {
    this.gone = true;
    this.observer.disconnect();
    this.sight.controls.dispose();
    this.world.traverse(x => { x.geometry?.dispose(); x.material?.map?.dispose(); x.material?.dispose?.(); });
    this.renderer.dispose();
    this.canvas.remove();
  }
}

Object.assign(Stage.prototype, overlays, ground, gizmo, pointer);

for (const name of Object.keys(SHOWN)) {
  Stage.prototype[`show${name[0].toUpperCase()}${name.slice(1)}`] = function (on) { this.show({ [name]: on }); };
}

/** Show a scene in an element; see the head of this file. */
export function createStage(element, scene, options = {}) {
  return new Stage(element, scene, options);
}
