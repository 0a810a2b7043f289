/* The values of a figure or a table as rows, as the filter leaves them. */
const values = (() => {
  const told = (figure) => JSON.parse(figure.querySelector("script").textContent);

  /* Returns the series of a chart of lines that the filter leaves, and their columns. */
  function ofLines(figure) {
    const { labels, columns } = told(figure);
    const groups = [...figure.querySelectorAll("svg > .series")];
    return {
      labels, groups,
      chosen: labels.map((_, i) => i).filter((i) => !groups[i].hasAttribute("data-out")),
      columns: columns.filter((column) => !figure.left || figure.left(column)),
    };
  }

  /* Returns the rows of bars that the filter leaves. */
  function ofBars(figure) {
    const { columns, rows } = told(figure);
    const out = [...figure.querySelectorAll(".row[data-out]")].map((row) => row.dataset.label);
    const at = columns.indexOf("bar");
    return { columns, rows: rows.filter((row) => !out.includes(row[at])) };
  }

  /* Programs read shares, which a figure shows in percent. */
  const unscaled = (scale) => (value) =>
    scale === 1 || typeof value !== "number" ? value : Number((value / scale).toPrecision(10));

  /* A chart of lines tells its values at each x; other figures have their rows as they are. */
  function ofFigure(figure, xLabel) {
    if (told(figure).rows) {
      const { columns, rows } = ofBars(figure);
      return [columns, ...rows];
    }
    const [ofX, ofY] = told(figure).scales.map(unscaled);
    const { labels, chosen, columns } = ofLines(figure);
    const wide = labels.map((_, i) => columns.some((column) => (column[4][i] || []).length > 1));
    const heads = chosen.flatMap((i) => {
      const label = labels[i];
      return wide[i] ? [label, `${label}, low`, `${label}, high`] : [label];
    });
    const numbers = (column) => chosen.flatMap((i) => {
      const [y, low, high] = column[4][i] || [];
      return (wide[i] ? [y, low, high] : [y]).map(ofY);
    });
    return [[told(figure).scales[0] === 1 ? xLabel : xLabel.replace("%", "share"), ...heads], ...columns.map((column) => [ofX(column[3]), ...numbers(column)])];
  }

  /* Returns the rows of a table that are shown. A cell over several columns has its text first. */
  function ofTable(table) {
    const text = (cell) => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll("button").forEach((part) => part.remove());
      copy.querySelectorAll("li + li").forEach((item) => item.prepend("; "));
      return copy.textContent.replace(/[ \t\r\n]+/g, " ").trim();
    };
    const isShown = (part) => !part.hasAttribute("data-out");
    return [...table.rows].filter(isShown).map((row) => {
      const cells = [...row.cells].filter(isShown);
      const texts = cells.flatMap((cell) => [text(cell), ...Array(cell.colSpan - 1).fill("")]);
      return { texts, isHead: row.parentElement === table.tHead, isWhole: cells.length > 1 || texts.length === 1 };
    });
  }

  function csv(rows) {
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => row.map(cell).join(",") + "\n").join("");
  }

  /* A CSV has plain spaces and minus signs, as programs read them. */
  function csvOfTable(table) {
    const plain = (text) => text.replace(/[\s\u00a0\u2009]+/g, " ").replaceAll("\u2212", "-");
    return csv(ofTable(table).map(({ texts }) => texts.map(plain)));
  }

  return { told, ofLines, ofBars, ofFigure, ofTable, csv, csvOfTable };
})();
