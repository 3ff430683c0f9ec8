// Small things for the page: elements, numbers, tabs, toasts.

/** An element of the page by its id.
 @type {(id: string) => any} */
export const $ = id => document.getElementById(id);

/** An element: make("button", {className, onclick, …}, child, …).
 @type {(tag: string, properties?: Record<string, any>, ...children: any[]) => any} */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role" || name === "for") element.setAttribute(name, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element[name] = value;
  }
  element.append(...children.filter(x => x != null));
  return element;
}

/** A number with some digits, without needless zeros. */
export function number(x, digits = 4) {
  if (x == null || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-3 || size >= 1e5) return x.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(+x.toPrecision(digits));
}

/** A row of tabs: arrow keys go from one to the next. */
export function tabs(list, chosen) {
  const all = () => [...list.querySelectorAll('[role="tab"]')];
  const select = tab => {
    for (const t of all()) {
      const on = t === tab;
      t.setAttribute("aria-selected", on);
      t.tabIndex = on ? 0 : -1;
      const panel = $(t.getAttribute("aria-controls"));
      if (panel && t.dataset.panel !== "shared") panel.hidden = !on;
    }
    chosen?.(tab);
  };
  list.addEventListener("click", e => { const t = e.target.closest('[role="tab"]'); if (t) select(t); });
  list.addEventListener("keydown", e => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[e.key], tabs = all(), at = tabs.indexOf(document.activeElement);
    if (!way || at < 0) return;
    e.preventDefault();
    e.stopPropagation();
    const next = tabs[(at + way + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });
  return select;
}

export function toast(text, kind = "") {
  const box = make("div", { className: `toast ${kind}` }, make("span", { textContent: text }));
  const close = make("button", { textContent: "×", onclick: () => box.remove() });
  close.setAttribute("aria-label", "Close");
  box.append(close);
  $("toasts").append(box);
  while ($("toasts").children.length > 4) $("toasts").firstChild.remove();
  setTimeout(() => box.remove(), kind === "error" ? 12000 : 5000);
}

/** f at most once in so many milliseconds, and in the end with what it was given last. */
export function rarely(f, pause) {
  let timer = 0, last = 0;
  return (...given) => {
    clearTimeout(timer);
    const now = performance.now(), act = () => { last = performance.now(); f(...given); };
    if (now - last >= pause) act();
    else timer = setTimeout(act, pause - (now - last));
  };
}

/** Give bytes to the user as a file. */
export function download(name, data, type = "application/octet-stream") {
  const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  const a = make("a", { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A canvas in pixels of the screen: [context, width, height]. */
export function drawing(canvas) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, h);
  g.font = "11px system-ui, sans-serif";
  return [g, w, h];
}

export const color = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A choice of the user, kept in a cookie: storage is per port, and the studio's changes. */
export function remember(name, value) {
  document.cookie = `dalembert_${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; SameSite=Strict`;
}

export function recall(name) {
  const found = document.cookie.split("; ").find(c => c.startsWith(`dalembert_${name}=`));
  return found ? decodeURIComponent(found.slice(found.indexOf("=") + 1)) : null;
}
