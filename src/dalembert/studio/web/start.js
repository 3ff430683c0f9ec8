// The start page: a sketch, a template, a mechanism of the zoo, a file.
import { $, make } from "./dom.js";

/** What the session offers; send: commands, open(): choose a file, back(): to what there is, null without. */
export function showStart(offered, send, open, back) {
  const card = (title, text, act, picture = "") => make("button", { className: "offer", onclick: act },
    picture ? make("img", { src: picture, alt: "", width: 160, height: 110, loading: "lazy" }) : null, make("b", { textContent: title }), make("small", { textContent: text }));
  $("begin").replaceChildren(
    ...(back ? [card("Go on", "back to what is open", back)] : []),
    card("Sketch", "An empty paper: pins, bars, sliders, motors", () => send({ do: "sketch", op: "begin" })),
    card("Open a file", "YAML, JSON, URDF, SDF, MJCF, Lua, or drop it here", open),
  );
  $("templates").replaceChildren(...offered.templates.map(name => card(name, "a sketch to change", () => send({ do: "sketch", op: "begin", from: name }))));
  $("zoo").replaceChildren(...offered.zoo.map(z => card(z.name.replaceAll("_", " "), `${z.mobility} ${z.mobility === 1 ? "freedom" : "freedoms"} · ${z.text}`, () => send({ do: "zoo", name: z.name }), z.picture)));
}
