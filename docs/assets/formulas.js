// KaTeX sets the formulas of each page; without it they stay as they are written
function setFormulas() {
  if (typeof renderMathInElement === "function") {
    renderMathInElement(document.body, {
      delimiters: [{ left: "\\[", right: "\\]", display: true }, { left: "\\(", right: "\\)", display: false }],
      throwOnError: false,
    });
  }
}
document.addEventListener("DOMContentLoaded", setFormulas);
