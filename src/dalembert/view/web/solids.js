// Geometry of a scene's shapes. Lengths are divided by `unit`, so that machines of any size draw alike.
import * as T from "three";

/** One geometry of several, each moved by a matrix if it has one: [geometry, matrix]. */
export function merged(parts) {
  const position = [], normal = [];
  for (const [geometry, matrix] of parts) {
    const g = geometry.index ? geometry.toNonIndexed() : geometry;
    if (matrix) g.applyMatrix4(matrix);
    position.push(...g.attributes.position.array);
    normal.push(...g.attributes.normal.array);
  }
  const out = new T.BufferGeometry();
  out.setAttribute("position", new T.Float32BufferAttribute(position, 3));
  out.setAttribute("normal", new T.Float32BufferAttribute(normal, 3));
  return out;
}

const alongZ = geometry => geometry.rotateX(Math.PI / 2);  // three.js has its axes along y

function plate(shape, thickness) {
  const outline = [];
  for (let i = 0; i < shape.outline.length; i += 2) outline.push(new T.Vector2(shape.outline[i], shape.outline[i + 1]));
  const bevel = Math.min(0.18 * thickness, 0.02);
  const geometry = new T.ExtrudeGeometry(new T.Shape(outline), {
    depth: thickness - 2 * bevel, bevelEnabled: true, bevelThickness: bevel, bevelSize: bevel, bevelOffset: -bevel, bevelSegments: 2,
  });
  return geometry.translate(0, 0, bevel - thickness / 2);
}

/** A wheel: rim, hub and spokes, so that its turning is seen. */
function wheel(radius, width) {
  const rim = 0.14 * radius, w = width / 2, hub = 0.16 * radius;
  const ring = new T.LatheGeometry([
    [radius - rim, -w], [radius - 0.3 * w, -w], [radius, -0.6 * w], [radius, 0.6 * w], [radius - 0.3 * w, w], [radius - rim, w], [radius - rim, -w],
  ].map(p => new T.Vector2(...p)), 64);
  const parts = [[alongZ(ring)], [alongZ(new T.CylinderGeometry(hub, hub, 1.3 * width, 24))]];
  for (let k = 0; k < 5; k++) {
    const spoke = new T.BoxGeometry(radius - rim - 0.5 * hub, 0.09 * radius, 0.6 * width);
    spoke.translate((radius - rim + 0.5 * hub) / 2, 0, 0).rotateZ(2 * Math.PI * k / 5);
    parts.push([spoke]);
  }
  return merged(parts);
}

export function arrow(radius, length) {
  const head = Math.min(0.4 * length, 5 * radius), shaft = Math.max(length - head, 1e-9);
  return merged([
    [alongZ(new T.CylinderGeometry(radius, radius, shaft, 16)).translate(0, 0, shaft / 2)],
    [alongZ(new T.ConeGeometry(2.4 * radius, head, 20)).translate(0, 0, shaft + head / 2)],
  ]);
}

function mesh(shape, unit) {
  const indexed = new T.BufferGeometry();
  indexed.setAttribute("position", new T.Float32BufferAttribute(Array.from(shape.vertices, x => x / unit), 3));
  indexed.setIndex(Array.from(shape.faces));
  const geometry = indexed.toNonIndexed();  // flat faces
  geometry.computeVertexNormals();
  return geometry;
}

/** The geometry of a shape, or null for a kind that is not known. */
export function geometryOf(shape, unit) {
  const s = (shape.size || []).map(x => x / unit);
  switch (shape.kind) {
    case "box": return new T.BoxGeometry(...s);
    case "sphere": return new T.SphereGeometry(s[0], 32, 20);
    case "ellipsoid": return new T.SphereGeometry(1, 32, 20).scale(...s);
    case "cylinder": return alongZ(new T.CylinderGeometry(s[0], s[0], s[1], 40));
    case "capsule": return alongZ(new T.CapsuleGeometry(s[0], s[1], 8, 24));
    case "rod": return alongZ(new T.CapsuleGeometry(s[0], s[1], 8, 24)).translate(0, 0, s[1] / 2);
    case "wheel": return wheel(...s);
    case "arrow": return arrow(...s);
    case "plate": return plate({ outline: shape.outline.map(x => x / unit) }, s[0]);
    case "plane": return new T.PlaneGeometry(...(s.length ? s : [40, 40]));
    case "mesh": return shape.vertices && shape.faces ? mesh(shape, unit) : null;
    default: return null;
  }
}

/** A coil of n turns about z from 0 to 1, of radius 1: scaled to the length of a spring. */
export function coil(turns = 9, wire = 0.16) {
  const steps = turns * 20, sides = 8, position = [], normal = [], index = [];
  for (let i = 0; i <= steps; i++) {
    const a = 2 * Math.PI * turns * i / steps, z = i / steps, c = Math.cos(a), s = Math.sin(a);
    for (let k = 0; k <= sides; k++) {
      const b = 2 * Math.PI * k / sides, n = [Math.cos(b) * c, Math.cos(b) * s, Math.sin(b)];
      position.push((1 + wire * Math.cos(b)) * c, (1 + wire * Math.cos(b)) * s, z + 0.02 * Math.sin(b));
      normal.push(...n);
      if (i < steps && k < sides) {
        const p = i * (sides + 1) + k, q = p + sides + 1;
        index.push(p, q, p + 1, q, q + 1, p + 1);
      }
    }
  }
  const g = new T.BufferGeometry();
  g.setAttribute("position", new T.Float32BufferAttribute(position, 3));
  g.setAttribute("normal", new T.Float32BufferAttribute(normal, 3));
  g.setIndex(index);
  return g;
}
