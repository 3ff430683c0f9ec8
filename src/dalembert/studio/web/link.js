// The connection to the session: messages out, events in; it comes back by itself when it is lost.

/** {header, arrays, rest} of a message of bytes: see messages.py. */
export function decode(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const arrays = {};
  let start = 4 + size;
  for (const [name, shape] of header.arrays ?? []) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = { shape, data: new Float32Array(buffer, start, count) };
    start += 4 * count;
  }
  return { header, arrays, rest: new Uint8Array(buffer, start) };
}

export class Link {
  /** @type {any} */ changed;
  /** @type {any} */ on;

  /** on: {event name: callback(header, arrays, rest)}; changed(open) when the connection opens or is lost. */
  constructor(on, changed) {
    Object.assign(this, { on, changed, wait: 250, last: new Map() });
    this.connect();
  }

  connect() {
    const url = new URL("socket", document.baseURI);
    url.protocol = "ws:";
    const socket = this.socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { this.wait = 250; this.changed(true); };
    socket.onmessage = e => {
      if (typeof e.data === "string") return this.told(JSON.parse(e.data), {}, null);
      const { header, arrays, rest } = decode(e.data);
      this.told(header, arrays, rest);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.changed(false);
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 3000);
    };
  }

  told(header, arrays, rest) {
    this.on[header.event]?.(header, arrays, rest);
  }

  get open() { return this.socket.readyState === WebSocket.OPEN; }

  send(command, data) {
    if (!this.open) return false;
    if (!data) this.socket.send(JSON.stringify(command));
    else {
      const header = new TextEncoder().encode(JSON.stringify(command)), out = new Uint8Array(4 + header.length + data.byteLength);
      new DataView(out.buffer).setUint32(0, header.length, true);
      out.set(header, 4);
      out.set(new Uint8Array(data), 4 + header.length);
      this.socket.send(out);
    }
    return true;
  }
}

/** Sends the newest of many commands, one at a time: the next when the last was answered. */
export class Stream {
  /** @type {any} */ link;

  constructor(link) { Object.assign(this, { link, waiting: null, busy: false, timer: 0, sent: 0, latency: 0 }); }

  send(command) {
    this.waiting = command;
    this.pump();
  }

  pump() {
    if (this.busy || !this.waiting) return;
    const command = this.waiting;
    this.waiting = null;
    if (!this.link.send(command)) return;
    this.busy = true;
    this.sent = performance.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.answered(), 400);
  }

  answered() {
    if (this.busy) this.latency = performance.now() - this.sent;
    this.busy = false;
    clearTimeout(this.timer);
    this.pump();
  }
}
