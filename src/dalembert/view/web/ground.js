// Light, shadow and the ground of a stage: the floor below a spatial machine, the grid behind a planar one. Methods of the stage.
import * as T from "three";
import { grid, roundLength } from "dalembert/marks.js";

const Z = new T.Vector3(0, 0, 1);

export const ground = {
  lights() {
    const { right, up, towards } = this.sight;
    this.sky = new T.HemisphereLight("#ffffff", "#b9c0c8", 1.5);
    this.sky.position.copy(up);
    this.sun = new T.DirectionalLight("#ffffff", this.scene.planar ? 1.3 : 2.1);
    this.sunWay = up.clone().multiplyScalar(this.scene.planar ? 1 : 2).addScaledVector(towards, this.scene.planar ? 2 : 1.1).addScaledVector(right, -0.7).normalize();
    this.sun.castShadow = this.shown.shadows;
    this.sun.shadow.mapSize.set(1024, 1024);
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.normalBias = 0.012;
    this.lamp = new T.DirectionalLight("#ffffff", 0.7);
    this.world.add(this.sky, this.sun, this.sun.target, this.lamp, this.lamp.target);
  },

  /** The floor and the sun go along with what is followed, the floor by whole steps of its grid. */
  moveFloor(way) {
    const { right, up, towards } = this.sight, step = this.gridStep / this.unit;
    const flat = n => Math.round(way.dot(n) / step) * step;
    this.floor.position.set(0, 0, 0).addScaledVector(right, flat(right)).addScaledVector(this.scene.planar ? up : towards, flat(this.scene.planar ? up : towards));
    this.sun.target.position.copy(this.sunAt).add(way);
    this.sun.position.copy(this.sunAt).add(way).addScaledVector(this.sunWay, this.sunFar);
  },

  /** The floor below a spatial machine, or a grid behind a planar one, as far as the points reach. */
  setGrid(points) {
    this.gridPoints = points;
    if (this.floor) { this.world.remove(this.floor); this.floor.traverse(x => { x.geometry?.dispose(); x.material?.dispose(); }); }
    this.floor = new T.Group();
    this.world.add(this.floor);
    if (!points.length) return;
    const planar = this.scene.planar, { right, up, towards } = this.sight;
    const normal = planar ? towards : up, v = planar ? up : towards, centre = new T.Vector3();
    let low = Infinity, high = -Infinity;
    const span = n => { const d = points.map(p => p.dot(n)); return [Math.min(...d), Math.max(...d)]; };
    [low, high] = span(normal);
    const [a, b] = [span(right), span(v)], reach = Math.max(a[1] - a[0], b[1] - b[0], 0.2 * (high - low), 1e-6);
    const step = roundLength(this.unit * reach / 7) / this.unit;
    this.gridStep = step * this.unit;
    const origin = this.toStage(0, 0, 0), snap = (x, o) => o + Math.round((x - o) / step) * step;
    const given = this.options.floor;
    const height = given != null && !planar ? (given - this.origin.reduce((s, x, i) => s + x * up.getComponent(i), 0)) / this.unit : low - (planar ? 0.02 : 1e-3);
    centre.addScaledVector(right, snap((a[0] + a[1]) / 2, origin.dot(right))).addScaledVector(v, snap((b[0] + b[1]) / 2, origin.dot(v))).addScaledVector(normal, height);
    const count = Math.ceil(reach * (planar ? 1.6 : 1.25) / step);
    if (this.shown.grid) this.floor.add(grid(centre, right, v, step, count, this.theme.line, (planar ? 0.7 : 1) * this.theme.strength));
    const plane = new T.Mesh(new T.PlaneGeometry(20 * reach, 20 * reach), new T.ShadowMaterial({ opacity: this.theme.shadow }));
    plane.quaternion.setFromUnitVectors(Z, normal);
    plane.position.copy(centre).addScaledVector(normal, -1e-3);
    plane.receiveShadow = true;
    this.floor.add(plane);
    const middle = centre.clone().addScaledVector(normal, (high - low) / 2), size = Math.max(reach, high - low);
    [this.sunAt, this.sunFar, this.followedWay] = [middle, 4 * size, null];
    this.sun.target.position.copy(middle);
    this.sun.position.copy(middle).addScaledVector(this.sunWay, 4 * size);
    Object.assign(this.sun.shadow.camera, { left: -size, right: size, top: size, bottom: -size, near: 0.5 * size, far: 8 * size });
    this.sun.shadow.camera.updateProjectionMatrix();
    this.invalidate();
  },
};
