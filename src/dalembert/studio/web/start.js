// The start page: a sketch, a template, a mechanism of the zoo, a file.
import { $, make } from "./dom.js";
import { thumbnail } from "./paper.js";

/** What the session offers; send: commands, open(): choose a file, tour(): the tour, back(): to what there is, null without. */
export function showStart(offered, send, open, tour, back) {
  const card = (title, text, act, picture = null) => make("button", { className: "offer", onclick: act },
    picture, make("b", { textContent: title }), make("small", { textContent: text }));
  const drawn = name => name ? make("img", { src: name, alt: "", width: 160, height: 110, loading: "lazy" }) : null;
  $("begin").replaceChildren(
    ...(back ? [card("Go on", "back to what is open", back)] : []),
    card("Sketch", "An empty paper: pins, bars, sliders, motors", () => send({ do: "sketch", op: "begin" })),
    card("Tour", "A four-bar, and what can be done with it, in a minute", tour),
    card("Open a file", "YAML, JSON, URDF, SDF, MJCF, Lua, or drop it here", open),
  );
  $("recent-section").hidden = !offered.recent.length;
  $("recent").replaceChildren(...offered.recent.map(name => card(name.replace(/\.json$/, "").replaceAll("_", " "), name, () => send({ do: "recent", name }))));
  $("templates").replaceChildren(...offered.templates.map(({ name, sketch }) => card(name, "a sketch to change", () => send({ do: "sketch", op: "begin", from: name }), thumbnail(sketch))));
  $("zoo").replaceChildren(...offered.zoo.map(z => card(z.name.replaceAll("_", " "), `${z.mobility} ${z.mobility === 1 ? "freedom" : "freedoms"} · ${z.text}`, () => send({ do: "zoo", name: z.name }), drawn(z.picture))));
}
