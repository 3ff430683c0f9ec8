// Files: dropped and opened ones to the session, pictures, films and what the session writes to the disk.
import { $, download, toast } from "./dom.js";

const LARGEST = 8 * 1024 * 1024;

/** studio: { state, send, status, timeline, stage }. */
export function wireFiles(studio) {
  const { state, send } = studio;
  async function load(file) {
    if (!file) return;
    if (file.size > LARGEST) return toast(`'${file.name}' has ${(file.size / 1048576).toFixed(1)} MB; the most that is read is 8.`, "error");
    send({ do: "load", name: file.name }, await file.arrayBuffer());
  }
  $("file").onchange = () => { load($("file").files[0]); $("file").value = ""; };
  let inside = 0;
  addEventListener("dragenter", e => { if (e.dataTransfer?.types.includes("Files")) { inside++; $("drop").hidden = false; } });
  addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); if (!inside) $("drop").hidden = true; });
  addEventListener("dragover", e => e.preventDefault());
  addEventListener("drop", e => { e.preventDefault(); inside = 0; $("drop").hidden = true; load(e.dataTransfer.files[0]); });

  const menu = open => { $("saving").hidden = !open; $("save").setAttribute("aria-expanded", open); if (open) $("saving").querySelector("button").focus(); };
  $("save").onclick = () => menu($("saving").hidden);
  addEventListener("pointerdown", e => { if (!e.target.closest(".menu")) menu(false); });
  $("saving").addEventListener("keydown", e => {
    const all = [...$("saving").querySelectorAll("button")], way = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (e.key === "Escape") { menu(false); $("save").focus(); e.stopPropagation(); }
    if (!way) return;
    e.preventDefault();
    e.stopPropagation();
    all[(all.indexOf(document.activeElement) + way + all.length) % all.length].focus();
  });
  $("saving").addEventListener("click", async e => {
    const what = e.target.closest("button")?.dataset.save, name = (state.model?.name ?? "model").replace(/[^\w-]+/g, "_");
    if (!what) return;
    menu(false);
    if (what === "picture") download(`${name}.png`, await studio.stage.screenshot());
    else if (what === "video") film(studio, name);
    else send({ do: "save", what });
  });
}

/** The run once through, recorded from the stage. */
function film(studio, name) {
  const { state, status, timeline } = studio;
  if (!state.runs.A) return toast("There is no run to film; simulate first.", "error");
  const type = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"].find(t => MediaRecorder.isTypeSupported(t));
  const recorder = new MediaRecorder(studio.stage.canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 8e6 }), parts = [];
  let cancelled = false;
  recorder.ondataavailable = e => parts.push(e.data);
  recorder.cancel = () => { cancelled = true; timeline.pause(); };
  recorder.onstop = () => {
    state.recorder = null;
    status("film", "");
    if (cancelled) toast("stopped: filming");
    else download(`${name}.${type.slice(6).split(";")[0]}`, new Blob(parts, { type: type.split(";")[0] }));
  };
  state.recorder = recorder;
  timeline.set(timeline.begin, false);
  recorder.start();
  status("film", "filming");
  timeline.play();
  const wait = () => timeline.playing ? setTimeout(wait, 100) : recorder.stop();
  wait();
}
