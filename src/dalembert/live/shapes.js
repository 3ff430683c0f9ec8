// Shapes of a planar mechanism while its lengths change. A body's anchors are the places of its joints, pins and frames; a
// shape goes with the anchor that is nearest, and turns with all of them: what spans two anchors is stretched.

export class Shapes {
  /** @type {any} */ scene
  /** @type {any} */ anchors

  /** anchors: [body, name] in the order of places, which are 3 numbers each in the ground; T: poses, 12 numbers a body. */
  constructor(scene, anchors, places, T) {
    Object.assign(this, { scene, anchors })
    this.before = this.local(places, T)
  }

  /** Places of the anchors in their bodies. */
  local(places, T) {
    return this.anchors.map(([body], k) => {
      const R = T.subarray(12 * body, 12 * body + 9)
      const d = [0, 1, 2].map((i) => places[3 * k + i] - T[12 * body + 9 + i])
      return [0, 1, 2].map((j) => R[j] * d[0] + R[3 + j] * d[1] + R[6 + j] * d[2])
    })
  }

  /** The scene with its anchors elsewhere. */
  at(places, T) {
    const now = this.local(places, T)
    const scene = structuredClone(this.scene)
    const moves = scene.bodies.map((_, body) => this.move(body, now, normal(scene.axes.towards, T, body)))
    scene.bodies.forEach((body, k) => body.shapes.forEach((shape) => this.reshape(shape, moves[k])))
    for (const place of [...scene.links.flatMap((l) => l.points), ...scene.traces]) {
      const m = moves[place.body]
      if (m) place.position = m(place.position)
    }
    return scene
  }

  /** How points of a body move: a function of (point, name of an anchor), or null where it has no anchor. */
  move(body, now, n) {
    const own = this.anchors.map((_, k) => k).filter((k) => this.anchors[k][0] === body)
    if (!own.length) return null
    const [from, to] = [middle(own.map((k) => this.before[k])), middle(own.map((k) => now[k]))]
    let [s, c] = [0, 0]
    for (const k of own) {
      const [a, b] = [minus(this.before[k], from), minus(now[k], to)]
      s += dot(cross(a, b), n)
      c += dot(a, b) - dot(a, n) * dot(b, n)
    }
    const angle = body && own.length > 1 && Math.hypot(s, c) > 0 ? Math.atan2(s, c) : 0 // the ground's supports stand
    const goes = (x, name = "") => {
      const named = own.filter((k) => this.anchors[k][1] === name)
      const k = least(named.length ? named : own, (i) => flat(minus(x, this.before[i]), n))
      return plus(now[k], turned(minus(x, this.before[k]), n, angle))
    }
    goes.quaternion = [Math.cos(angle / 2), ...n.map((x) => x * Math.sin(angle / 2))]
    return goes
  }

  reshape(shape, goes) {
    if (!goes) return
    const { position, quaternion, outline } = shape
    if (outline && !shape.joint) {
      for (let i = 0; i + 1 < outline.length; i += 2) {
        const x = goes(plus(position, rotated(quaternion, [outline[i], outline[i + 1], 0])))
        const there = rotated(conjugate(quaternion), minus(x, position))
        outline.splice(i, 2, there[0], there[1])
      }
      return
    }
    shape.position = goes(position, shape.joint)
    shape.quaternion = times(goes.quaternion, quaternion)
  }
}

const plus = (a, b) => a.map((x, i) => x + b[i])
const minus = (a, b) => a.map((x, i) => x - b[i])
const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0)
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
const middle = (list) => [0, 1, 2].map((i) => list.reduce((s, x) => s + x[i], 0) / list.length)
const flat = (d, n) => dot(d, d) - dot(d, n) ** 2
const conjugate = ([w, x, y, z]) => [w, -x, -y, -z]

function least(list, value) {
  return list.reduce((best, k) => (value(k) < value(best) ? k : best))
}

/** The direction towards the eye in the axes of a body. */
function normal(towards, T, body) {
  const R = T.subarray(12 * body, 12 * body + 9)
  return [0, 1, 2].map((j) => R[j] * towards[0] + R[3 + j] * towards[1] + R[6 + j] * towards[2])
}

/** d turned by an angle about n (Rodrigues). */
function turned(d, n, angle) {
  const [c, s, side, along] = [Math.cos(angle), Math.sin(angle), cross(n, d), dot(n, d)]
  return d.map((x, i) => c * x + s * side[i] + (1 - c) * along * n[i])
}

function rotated(quaternion, v) {
  const [w, ...u] = quaternion
  const t = cross(u, v).map((x) => 2 * x)
  const more = cross(u, t)
  return v.map((x, i) => x + w * t[i] + more[i])
}

function times([a, b, c, d], [e, f, g, h]) {
  return [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e]
}
