// A page of the library in a notebook's cell, and sliders that ask Python for another one.
const STYLE = `
.dalembert { font: 13px system-ui, sans-serif; }
.dalembert iframe { width: 100%; border: 1px solid #8884; border-radius: 6px; display: block; background: transparent; }
.dalembert label { display: grid; grid-template-columns: 9em 1fr 6em; gap: .6em; align-items: center; margin: .25em 0; }
.dalembert output { font-variant-numeric: tabular-nums; }
.dalembert .trouble { color: #d55e00; min-height: 1.2em; }`;

const shown = x => Number(x.toPrecision(5)).toString();

function slider(model, { name, least, greatest, value }) {
  const label = document.createElement("label"), input = document.createElement("input"), number = document.createElement("output");
  Object.assign(input, { type: "range", min: least, max: greatest, step: (greatest - least) / 200 || 1e-12 });
  input.value = model.get("values")[name] ?? value;
  number.textContent = shown(model.get("values")[name] ?? value);
  input.setAttribute("aria-label", name);
  input.addEventListener("input", () => { number.textContent = shown(Number(input.value)); });
  input.addEventListener("change", () => {
    model.set("values", { ...model.get("values"), [name]: Number(input.value) });
    model.save_changes();
  });
  label.append(Object.assign(document.createElement("span"), { textContent: name }), input, number);
  return label;
}

function render({ model, el }) {
  const root = document.createElement("div"), style = document.createElement("style"), frame = document.createElement("iframe");
  const trouble = Object.assign(document.createElement("div"), { className: "trouble" });
  root.className = "dalembert";
  style.textContent = STYLE;
  frame.title = "mechanism";
  const fill = () => { frame.style.height = `${model.get("height")}px`; frame.srcdoc = model.get("page"); };
  const say = () => { trouble.textContent = model.get("trouble"); };
  model.on("change:page", fill);
  model.on("change:trouble", say);
  root.append(style, ...model.get("sliders").map(x => slider(model, x)));
  if (model.get("sliders").length) root.append(trouble);
  root.append(frame);
  el.append(root);
  fill();
  say();
  return () => { model.off("change:page", fill); model.off("change:trouble", say); };
}

export default { render };
