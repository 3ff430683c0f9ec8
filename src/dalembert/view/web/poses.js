// Poses in flat arrays, seven numbers a body (x y z w qx qy qz): between two pictures, and points of bodies.

const FINE = 4;

/** Poses a share of the way from those at i to those at j of `data`: places straight, quaternions of unit length. */
export function between(data, i, j, share, out, start = 0) {
  for (let k = start; k < out.length; k += 7, i += 7, j += 7) {
    for (let c = 0; c < 3; c++) out[k + c] = data[i + c] + share * (data[j + c] - data[i + c]);
    let dot = 0, norm = 0;
    for (let c = 3; c < 7; c++) dot += data[i + c] * data[j + c];
    const there = dot < 0 ? -share : share;  // q and −q are one rotation: the shorter way
    for (let c = 3; c < 7; c++) norm += (out[k + c] = (1 - share) * data[i + c] + there * data[j + c]) ** 2;
    for (let c = 3; c < 7; c++) out[k + c] /= Math.sqrt(norm) || 1;
  }
  return out;
}

/** A point of a body in the ground; start: where the poses begin. */
export function pointOf(poses, body, [x, y, z], start = 0) {
  const i = start + 7 * body, w = poses[i + 3], a = poses[i + 4], b = poses[i + 5], c = poses[i + 6];
  const tx = 2 * (b * z - c * y), ty = 2 * (c * x - a * z), tz = 2 * (a * y - b * x);
  return [poses[i] + x + w * tx + b * tz - c * ty, poses[i + 1] + y + w * ty + c * tx - a * tz, poses[i + 2] + z + w * tz + a * ty - b * tx];
}

/** A smooth curve through points (flat x y z): FINE pieces between neighbours (Catmull and Rom). */
export function smooth(points) {
  const n = points.length / 3, out = [], at = (k, j) => points[3 * Math.min(Math.max(k, 0), n - 1) + j];
  for (let k = 0; k < n - 1; k++) {
    for (let i = 0; i < FINE; i++) {
      const u = i / FINE;
      for (let j = 0; j < 3; j++) {
        const [a, b, c, d] = [at(k - 1, j), at(k, j), at(k + 1, j), at(k + 2, j)];
        out.push(b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a))));
      }
    }
  }
  return [...out, ...points.slice(-3)];
}
smooth.fine = FINE;
