// The axes and gravity in the corner of a stage. Methods of the stage.
import * as T from "three";
import { label, triad, vectorArrow } from "dalembert/marks.js";

const Z = new T.Vector3(0, 0, 1);

export const gizmo = {
  makeGizmo() {
    this.gizmo = new T.Scene();
    this.gizmoEye = new T.OrthographicCamera(-1.5, 1.5, 1.5, -1.5, 0.1, 10);
    this.gizmoAxes = triad(1, 0.045, true);
    this.gizmo.add(this.gizmoAxes);
    const g = new T.Vector3(...this.scene.gravity);
    if (g.length() > 0) {
      this.gizmoGravity = vectorArrow(0.95, 0.035, "#7f8c8d", false);
      this.gizmoGravity.quaternion.setFromUnitVectors(Z, g.normalize());
      const text = label("g", "#7f8c8d", 14);
      text.position.copy(g).multiplyScalar(1.22);
      this.gizmo.add(this.gizmoGravity, text);
      this.gizmoGravityText = text;
    }
    this.gizmo.add(new T.AmbientLight("#ffffff", 2));
  },

  renderGizmo() {
    const r = this.renderer, size = Math.min(104, 0.3 * this.sight.height), e = this.gizmoEye;
    const way = this.sight.eye.getWorldDirection(new T.Vector3());
    e.up.copy(this.sight.eye.up);
    e.position.copy(way).multiplyScalar(-5);
    e.quaternion.copy(this.sight.eye.quaternion);
    if (this.gizmoGravity) this.gizmoGravity.visible = this.gizmoGravityText.visible = this.shown.gravity;
    this.gizmo.traverse(x => x.isSprite && x.scale.set(0.42 * x.userData.aspect, 0.42, 1));
    r.clearDepth();
    r.setViewport(6, 6, size, size);
    r.render(this.gizmo, e);
  },
};
