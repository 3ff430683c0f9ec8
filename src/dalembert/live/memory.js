// The memory of a module: the library's own structs (native/struct.py) at the addresses that a map gives, functions
// f(x, y, w) of three addresses with their inputs and outputs, and the C library that modules import.

const LN2 = 0.6931471805599453

/** The C library for the module: what JavaScript has under the same names, and four functions more. */
export function library(memory) {
  const env = {}
  const plain = "exp log log1p expm1 tan asin acos atan sinh cosh tanh asinh acosh atanh sin cos atan2 hypot"
  for (const name of plain.split(" ")) env[name] = Math[name]
  env.pow = (x, y) => x ** y
  env.fmod = (x, y) => x % y
  env.remainder = (x, y) => {
    const size = Math.abs(y)
    let r = x % size
    const half = size / 2
    const odd = Math.abs(Math.trunc((x - r) / size)) % 2 === 1
    if (Math.abs(r) > half || (Math.abs(r) === half && odd)) r -= Math.sign(r) * size
    return r
  }
  env.frexp = (x, at) => {
    const view = new DataView(memory().buffer)
    let e = 0
    if (x !== 0 && Number.isFinite(x)) {
      e = Math.max(-1023, Math.floor(Math.log(Math.abs(x)) / LN2) + 1)
      let m = x * 2 ** -e
      while (Math.abs(m) < 0.5) { m *= 2; e -= 1 }
      while (Math.abs(m) >= 1) { m /= 2; e += 1 }
      x = m
    }
    view.setInt32(at, e, true)
    return x
  }
  env.ldexp = (x, e) => {
    for (; e > 1000; e -= 1000) x *= 2 ** 1000
    for (; e < -1000; e += 1000) x *= 2 ** -1000
    return x * 2 ** e
  }
  return env
}

/** A struct in memory, by the names of its fields. */
export class Record {
  constructor(machine, at, fields) {
    this.machine = machine
    this.at = at
    this.fields = fields
  }

  get(name) {
    const [offset, kind] = this.fields[name]
    const at = this.at + offset
    return kind === "f" ? this.machine.view.getFloat64(at, true) : this.machine.view.getInt32(at, true)
  }

  set(name, value) {
    const [offset, kind] = this.fields[name]
    const at = this.at + offset
    if (kind === "f") this.machine.view.setFloat64(at, value, true)
    else this.machine.view.setBigInt64(at, BigInt(value), true)
  }

  doubles(name, n) {
    return new Float64Array(this.machine.memory.buffer, this.get(name), n)
  }
}

/** A function with its inputs and outputs. */
export class Bound extends Record {
  constructor(machine, at, fields, slices = {}) {
    super(machine, at, fields)
    this.slices = slices
  }

  get x() { return this.doubles("x", this.get("nx")) }
  get y() { return this.doubles("y", this.get("ny")) }

  /** Outputs for inputs by name; others stay as they are. */
  call(inputs, t = 0) {
    const x = this.x
    for (const name in inputs) {
      const place = this.slices[name]
      if (place) x.set(inputs[name], place[0])
    }
    const clock = this.get("time_index")
    if (clock >= 0) x[clock] = t
    this.machine.table.get(this.get("address"))(this.get("x"), this.get("y"), this.get("w"))
    return this.y
  }
}
