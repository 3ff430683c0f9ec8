// The pointer on a stage: what is under it, bodies that are dragged. Methods of the stage.
import * as T from "three";

export const pointer = {
  ray(x, y) {
    const box = this.canvas.getBoundingClientRect();
    const caster = new T.Raycaster();
    this.sight.eye.updateMatrixWorld();
    caster.setFromCamera(new T.Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height), this.sight.eye);
    return caster;
  },

  pick(x, y) {
    const solids = this.bodies.flatMap(g => g.children);
    for (const [dx, dy] of [[0, 0], [6, 0], [-6, 0], [0, 6], [0, -6]]) {
      const hit = this.ray(x + dx, y + dy).intersectObjects(solids, false)[0];
      if (!hit) continue;
      const { index, joint } = hit.object.userData, own = this.bodies[index].worldToLocal(hit.point.clone());
      return { body: this.scene.bodies[index].name, joint: joint || null, point: this.toMetres(hit.point), pointInBody: own.toArray().map(v => v * this.unit), distance: hit.distance * this.unit };
    }
    return null;
  },

  onDrag(callbacks) {
    this.callbacks = callbacks ?? {};
  },

  watch() {
    const down = e => {
      if (e.button !== 0 || !this.callbacks.start || this.drag) return;
      const hit = this.pick(e.clientX, e.clientY);
      if (!hit || hit.body === this.scene.bodies[0].name || !this.callbacks.start(hit, e)) return;
      e.stopImmediatePropagation();
      const normal = this.scene.planar ? this.sight.towards : this.sight.eye.getWorldDirection(new T.Vector3());
      this.drag = { hit, id: e.pointerId, plane: new T.Plane().setFromNormalAndCoplanarPoint(normal, this.toStage(...hit.point)) };
      this.canvas.setPointerCapture(e.pointerId);
    };
    const move = e => {
      if (!this.drag) {
        if (this.callbacks.hover && !e.buttons) this.callbacks.hover(this.pick(e.clientX, e.clientY), e);
        return;
      }
      e.stopImmediatePropagation();
      const target = this.ray(e.clientX, e.clientY).ray.intersectPlane(this.drag.plane, new T.Vector3());
      if (target) this.callbacks.move?.({ ...this.drag.hit, target: this.toMetres(target), event: e });
    };
    const up = e => {
      if (!this.drag) return;
      e.stopImmediatePropagation();
      const { hit } = this.drag;
      this.drag = null;
      this.callbacks.end?.({ ...hit, event: e });
    };
    const listen = [["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointercancel", up]];
    for (const [name, f] of listen) this.canvas.addEventListener(name, f, { capture: true });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
    this.resize();
  },
};
