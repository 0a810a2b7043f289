"use strict";
{
  const drawn = (name) => document.createElementNS(document.querySelector("svg").namespaceURI, name);

  function download(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function button(text, what, act) {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = text;
    one.setAttribute("aria-label", `Download ${what} as ${text}`);
    one.addEventListener("click", act);
    return one;
  }

  function bar(...buttons) {
    const all = document.createElement("div");
    all.className = "take";
    all.append(...buttons);
    return all;
  }

  function csv(rows) {
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => row.map(cell).join(",") + "\n").join("");
  }

  /* A chart of lines tells its values at each x; other figures have their rows as they are. */
  function rowsOfFigure(figure, xLabel) {
    const told = JSON.parse(figure.querySelector("script").textContent);
    const out = [...figure.querySelectorAll(".row[data-out]")].map((row) => row.dataset.label);
    if (told.rows) return [told.columns, ...told.rows.filter((row) => !out.includes(row[0]))];
    const groups = figure.querySelectorAll("svg > .series");
    const chosen = told.labels.map((_, i) => i).filter((i) => !groups[i].hasAttribute("data-out"));
    const columns = told.columns.filter((column) => !figure.left || figure.left(column));
    const wide = told.labels.map((_, i) => columns.some((column) => (column[4][i] || []).length > 1));
    const heads = chosen.flatMap((i) => {
      const label = told.labels[i];
      return wide[i] ? [label, `${label}, low`, `${label}, high`] : [label];
    });
    const values = (column) => chosen.flatMap((i) => {
      const [y, low, high] = column[4][i] || [];
      return wide[i] ? [y, low, high] : [y];
    });
    return [[xLabel, ...heads], ...columns.map((column) => [column[3], ...values(column)])];
  }

  /* The file has its own patterns, legend and style, that of paper also where the page is dark. */
  function drawingOf(figure, svg, title) {
    const copy = svg.cloneNode(true);
    copy.querySelectorAll("[hidden], [data-out], .pointer").forEach((part) => part.remove());
    const { width, height } = svg.viewBox.baseVal;
    const below = addLegend(copy, figure, height);
    copy.setAttribute("viewBox", `0 0 ${width} ${below}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", below);
    copy.removeAttribute("tabindex");
    if (copy.querySelector("[fill^=url]")) copy.prepend(document.querySelector(".patterns defs").cloneNode(true));
    const style = drawn("style");
    style.textContent = [...document.styleSheets[0].cssRules]
      .filter((rule) => rule instanceof CSSStyleRule)
      .filter(({ selectorText: of }) => of === ":root" || (!of.includes(":") && copy.querySelector(of)))
      .map((rule) => rule.cssText)
      .join("\n");
    const name = drawn("title");
    name.textContent = title;
    copy.prepend(name, style);
    return new XMLSerializer().serializeToString(copy);
  }

  function addLegend(copy, figure, height) {
    let top = height;
    for (const item of figure.querySelectorAll(".legend li")) {
      if (item.matches("[data-out]") || item.querySelector("[aria-pressed=false]")) continue;
      const sample = item.querySelector("svg");
      const group = drawn("g");
      group.setAttribute("transform", `translate(46 ${top + 3})`);
      group.append(...[...sample.children].map((part) => part.cloneNode(true)));
      const text = drawn("text");
      text.setAttribute("x", 88);
      text.setAttribute("y", top + 7 + sample.viewBox.baseVal.height / 2);
      text.textContent = item.textContent.replace(/\s+/g, " ").trim();
      copy.append(group, text);
      top += Math.max(18, sample.viewBox.baseVal.height + 2);
    }
    return top;
  }

  function rowsOfTable(table) {
    const text = (cell) => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll("button").forEach((part) => part.remove());
      return copy.textContent.replace(/[\s\u00a0\u2009]+/g, " ").replaceAll("\u2212", "-").trim();
    };
    const isShown = (part) => !part.hasAttribute("data-out");
    const cells = (row) => [...row.cells].filter(isShown).flatMap((cell) => [text(cell), ...Array(cell.colSpan - 1).fill("")]);
    return [...table.rows].filter(isShown).map(cells);
  }

  for (const figure of document.querySelectorAll(".chart, .event, .graph")) {
    const heading = figure.querySelector("h3") || figure.closest("section").querySelector("h2");
    const title = heading.textContent.trim();
    const svg = figure.querySelector(":scope > svg, svg.tree");
    const label = figure.querySelector("thead th");
    const what = `the figure “${title}”`;
    const svgButton = button("SVG", what, () => download(`${figure.id}.svg`, "image/svg+xml", drawingOf(figure, svg, title)));
    if (!figure.querySelector("script")) figure.append(bar(svgButton));
    else figure.append(bar(
      svgButton,
      button("CSV", what, () => download(`${figure.id}.csv`, "text/csv", csv(rowsOfFigure(figure, label?.textContent)))),
    ));
  }

  const tables = [...document.querySelectorAll("main table")].filter((table) => !table.closest(".chart"));
  tables.forEach((table, index) => {
    const place = table.closest("section") || document.querySelector("main");
    const heads = [...place.querySelectorAll("h2, h3")];
    const before = heads.filter((head) => head.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
    const heading = table.caption || before.at(-1) || document.querySelector("h1");
    const first = table.caption ? "" : table.rows[0].cells[0].textContent.trim();
    const title = heading.textContent.trim() + (first && `: ${first}`);
    const name = `${place.id || "table"}-${index + 1}.csv`;
    const buttons = bar(button("CSV", `the table “${title}”`, () => download(name, "text/csv", csv(rowsOfTable(table)))));
    if (table.parentElement.matches(".scroll")) table.after(buttons);
    else (table.caption || table.parentElement).append(buttons);
  });
}
