/* A figure's drawing on its own: as the text of an SVG, and on a page for the printer. */
const drawings = (() => {
  const legendLeft = 88;
  const legendLine = 14;
  const drawn = (name) => document.createElementNS(document.querySelector("svg").namespaceURI, name);

  /* The drawing has its own patterns, legend and style, that of paper also where the page is dark. */
  function alone(figure, svg, title, isPrinted = false) {
    const copy = svg.cloneNode(true);
    copy.querySelectorAll("[hidden], [data-out], .pointer").forEach((part) => part.remove());
    const { width, height } = svg.viewBox.baseVal;
    const below = addLegend(copy, figure, svg);
    copy.setAttribute("viewBox", `0 0 ${width} ${below}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", below);
    copy.removeAttribute("tabindex");
    if (copy.querySelector("[fill^=url]")) copy.prepend(document.querySelector(".patterns defs").cloneNode(true));
    if (isPrinted) copy.querySelectorAll("[fill^=url]").forEach(hatchByLines);
    const style = drawn("style");
    style.textContent = [...document.styleSheets[0].cssRules]
      .filter((rule) => rule instanceof CSSStyleRule)
      .filter(({ selectorText: of }) => of === ":root" || (!of.includes(":") && copy.querySelector(of)))
      .map((rule) => rule.cssText)
      .join("\n");
    const name = drawn("title");
    name.textContent = title;
    copy.prepend(name, style);
    return { text: new XMLSerializer().serializeToString(copy), width, height: below };
  }

  /* The words of a text in lines of a width in pixels, in the letters of a drawing. */
  function folded(text, width, svg) {
    const measure = document.createElement("canvas").getContext("2d");
    measure.font = getComputedStyle(svg).font;
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (lines.at(-1) && measure.measureText(longer).width > width) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  }

  function addLegend(copy, figure, svg) {
    const { width, height } = svg.viewBox.baseVal;
    let top = height;
    for (const item of figure.querySelectorAll(".legend li")) {
      if (item.matches("[data-out]") || item.querySelector("[aria-pressed=false]")) continue;
      const sample = item.querySelector("svg");
      const group = drawn("g");
      group.setAttribute("transform", `translate(46 ${top + 3})`);
      group.append(...[...sample.children].map((part) => part.cloneNode(true)));
      copy.append(group);
      const lines = folded(item.textContent.replace(/\s+/g, " ").trim(), width - legendLeft, svg);
      lines.forEach((line, i) => {
        const text = drawn("text");
        text.setAttribute("x", legendLeft);
        text.setAttribute("y", top + 7 + sample.viewBox.baseVal.height / 2 + i * legendLine);
        text.textContent = line;
        copy.append(text);
      });
      top += Math.max(18, sample.viewBox.baseVal.height + 2) + (lines.length - 1) * legendLine;
    }
    return top;
  }

  /* A printer makes pictures of patterns, so an area gets the lines of its pattern, tile by tile. Returns what
     was added. */
  function hatchByLines(area) {
    const pattern = document.querySelector(area.getAttribute("fill").slice(4, -1));
    const tile = pattern.width.baseVal.value;
    const [tint, lines] = [...pattern.children].map((part) => part.cloneNode(true));
    const inside = drawn("svg");
    for (const side of ["x", "y", "width", "height"]) inside.setAttribute(side, area.getAttribute(side));
    for (const side of ["width", "height"]) tint.setAttribute(side, area.getAttribute(side));
    inside.append(tint);
    for (let x = 0; x < area.width.baseVal.value && lines.getAttribute("d"); x += tile)
      for (let y = 0; y < area.height.baseVal.value; y += tile) {
        const one = lines.cloneNode();
        one.setAttribute("transform", `translate(${x} ${y})`);
        inside.append(one);
      }
    area.setAttribute("fill", "none");
    area.before(inside);
    return inside;
  }

  const text = (...of) => alone(...of).text;

  /* A document in a frame has a page of the drawing's size, so the printer's "save as PDF" makes one of vectors. */
  function print(figure, svg, title) {
    const { text: drawing, width, height } = alone(figure, svg, title, true);
    const name = document.createElement("title");
    name.textContent = title;
    const frame = document.createElement("iframe");
    frame.title = title;
    frame.tabIndex = -1;
    frame.style.cssText = "position: fixed; width: 0; height: 0; border: 0; visibility: hidden";
    frame.srcdoc = `<!doctype html><html lang="en"><meta charset="utf-8">${name.outerHTML}<style>
      @page { size: ${Math.ceil(width)}px ${Math.ceil(height)}px; margin: 0 } html, body { margin: 0 }
      svg { display: block; print-color-adjust: exact; -webkit-print-color-adjust: exact }</style>${drawing}`;
    frame.addEventListener("load", () => {
      const { contentWindow: of } = frame;
      of.addEventListener("afterprint", () => setTimeout(() => frame.remove()));
      of.focus();
      of.print();
    });
    document.querySelectorAll("body > iframe").forEach((old) => old.remove());
    document.body.append(frame);
  }

  return { text, print, hatchByLines };
})();
