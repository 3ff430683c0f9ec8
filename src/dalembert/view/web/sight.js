// The eye of a stage: an orthographic camera for planar mechanisms, a perspective one for spatial ones.
import * as T from "three";

const FIELD = 32 * Math.PI / 180;  // height of the perspective view, an angle
const NAMED = {  // yaw about up and pitch, degrees, from the picture's own axes
  front: [0, 0], back: [180, 0], left: [-90, 0], right: [90, 0], top: [0, 90], bottom: [0, -90], corner: [35, 22],
};

export class Sight {
  /** @type {any} */ right;
  /** @type {any} */ up;
  /** @type {any} */ towards;

  /** axes: right, up, towards of the scene; `changed` is called after every move. */
  constructor(canvas, axes, planar, eye, changed) {
    this.eyeAngles = eye ?? NAMED.corner;
    [this.right, this.up, this.towards] = ["right", "up", "towards"].map(n => new T.Vector3(...axes[n]));
    this.changed = changed;
    this.canvas = canvas;
    this.ortho = new T.OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
    this.perspective = new T.PerspectiveCamera(FIELD * 180 / Math.PI, 1, 0.01, 1000);
    this.followed = null;
    this.width = this.height = 1;
    this.moved = false;  // by the user
    this.target = new T.Vector3();
    this.mode(planar ? "planar" : "orbit");
    this.view(planar ? "front" : "corner");
  }

  /** "planar": dragging moves the picture; "orbit": it turns it. */
  mode(name) {
    const look = this.eye ? this.get() : null;
    this.controls?.dispose();
    this.planar = name === "planar";
    this.eye = this.planar ? this.ortho : this.perspective;
    this.eye.up.copy(this.up);
    this.controls = new T.OrbitControls(this.eye, this.canvas);
    const c = this.controls;
    c.target.copy(this.target);
    this.target = c.target;
    c.zoomToCursor = true;
    c.zoomSpeed = 1.6;
    c.enableRotate = true;
    c.mouseButtons = this.planar
      ? { LEFT: T.MOUSE.PAN, MIDDLE: T.MOUSE.DOLLY, RIGHT: T.MOUSE.ROTATE }
      : { LEFT: T.MOUSE.ROTATE, MIDDLE: T.MOUSE.DOLLY, RIGHT: T.MOUSE.PAN };
    c.touches = this.planar ? { ONE: T.TOUCH.PAN, TWO: T.TOUCH.DOLLY_PAN } : { ONE: T.TOUCH.ROTATE, TWO: T.TOUCH.DOLLY_PAN };
    c.addEventListener("start", () => { this.moved = true; });
    c.addEventListener("change", this.changed);
    if (look) this.set(look);
  }

  /** Look from a named side, with what was fitted last in the picture: front, back, left, right, top, bottom, corner. */
  view(name) {
    const [yaw, pitch] = name !== "corner" && NAMED[name] || this.eyeAngles;
    this.orbit(yaw, pitch);
  }

  /** Look from yaw about up and pitch above the horizon (degrees, from the front). */
  orbit(yaw, pitch) {
    const a = yaw * Math.PI / 180, b = Math.min(Math.max(pitch, -89.9), 89.9) * Math.PI / 180;
    const d = this.distance ?? 4;
    const way = this.towards.clone().multiplyScalar(Math.cos(a) * Math.cos(b))
      .addScaledVector(this.right, Math.sin(a) * Math.cos(b)).addScaledVector(this.up, Math.sin(b));
    this.eye.position.copy(this.target).addScaledVector(way, d);
    this.eye.lookAt(this.target);
    this.controls.update();
    if (this.points) this.fit(this.points);
    this.changed();
  }

  /** Bring points (Vector3, in the stage's units) into the picture, from where the eye looks now. */
  fit(points, margin = 1.14) {
    this.points = points;
    this.moved = false;
    if (!points.length) return;
    this.eye.updateMatrixWorld();
    const x = new T.Vector3(), y = new T.Vector3(), z = new T.Vector3();
    this.eye.matrixWorld.extractBasis(x, y, z);
    const low = [Infinity, Infinity, Infinity], high = low.map(v => -v);
    for (const p of points) [x, y, z].forEach((n, i) => {
      low[i] = Math.min(low[i], p.dot(n));
      high[i] = Math.max(high[i], p.dot(n));
    });
    const middle = low.map((v, i) => (v + high[i]) / 2), size = low.map((v, i) => high[i] - v);
    const aspect = this.width / this.height;
    this.target.set(0, 0, 0).addScaledVector(x, middle[0]).addScaledVector(y, middle[1]).addScaledVector(z, middle[2]);
    const half = Math.max(size[1], size[0] / aspect, 1e-6) / 2 * margin;
    const tan = Math.tan(FIELD / 2) / margin;
    let d = 1e-6;
    for (const p of points) {
      const q = p.clone().sub(this.target), depth = q.dot(z);
      d = Math.max(d, Math.abs(q.dot(y)) / tan + depth, Math.abs(q.dot(x)) / (tan * aspect) + depth);
    }
    this.distance = this.planar ? Math.max(size[2], 1) * 4 : d;
    this.size = Math.max(...size, 1e-6);
    this.half = half;
    this.ortho.zoom = 1;
    this.eye.position.copy(this.target).addScaledVector(z, this.distance);
    this.resize(this.width, this.height);
    this.controls.update();
    this.changed();
  }

  resize(width, height) {
    [this.width, this.height] = [Math.max(width, 1), Math.max(height, 1)];
    const aspect = this.width / this.height, half = this.half ?? 1, size = this.size ?? 1, far = (this.distance ?? 4) + 60 * size;
    Object.assign(this.ortho, { left: -half * aspect, right: half * aspect, top: half, bottom: -half, near: -far, far: 2 * far });
    Object.assign(this.perspective, { aspect, near: 1e-3 * size, far: 2 * far });
    this.ortho.updateProjectionMatrix();
    this.perspective.updateProjectionMatrix();
  }

  /** Size of a pixel at a point, in the stage's units. */
  pixel(point) {
    if (this.planar) return 2 * this.ortho.top / this.ortho.zoom / this.height;
    return 2 * Math.tan(FIELD / 2) * this.eye.position.distanceTo(point) / this.height;
  }

  shift(by) {
    this.eye.position.add(by);
    this.target.add(by);
    this.points?.forEach(p => p.add(by));  // what is fitted goes along
  }

  get() {
    return { position: this.eye.position.toArray(), target: this.target.toArray(), zoom: this.ortho.zoom, distance: this.distance };
  }

  set({ position, target, zoom }) {
    if (position) this.eye.position.set(...position);
    if (target) this.target.set(...target);
    if (zoom) this.ortho.zoom = zoom;
    this.resize(this.width, this.height);
    this.controls.update();
    this.changed();
  }
}
