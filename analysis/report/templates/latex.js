/* Text and tables for LaTeX, in the form of `trellis export`. */
const latex = (() => {
  const special = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "$<$", ">": "$>$",
    "\u2009": "\\,", "\u2212": "$-$", "\u00a0": "~", "\u00b1": "$\\pm$", "\u00d7": "$\\times$", "\u221e": "$\\infty$",
    "\u2014": "---", "\u2013": "--", "\u2019": "'", "\n": " ",
    "\u2713": "$\\surd$", "\u2717": "$\\times$", "\u2192": "$\\rightarrow$", "\u2264": "$\\leq$", "\u2265": "$\\geq$",
    "\u2248": "$\\approx$", "\u00b5": "$\\mu$", "\u00b0": "$^\\circ$", "|": "\\textbar{}", "[": "{[}", "*": "{*}",
  };
  for (const sign of "&%$#_{}") special[sign] = `\\${sign}`;
  const longest = 45;
  const rowsOfPage = 45;

  const escaped = (text) => [...text.replace(/<=/g, "\u2264").replace(/>=/g, "\u2265")].map((letter) => special[letter] ?? letter).join("");
  const comment = (text) => `% ${text.trim().replace(/\s+/g, " ")}`;
  const line = (cells) => cells.map(escaped).join(" & ") + " \\\\";

  function form(cells, columns) {
    if (cells.some((cell) => cell.length > longest)) return `p{${(1 / Math.max(columns, 2)).toFixed(2)}\\linewidth}`;
    const isNumber = (cell) => !cell || /^[0-9+\-\u2212\u2014\u221e]/.test(cell);
    return cells.some((cell) => cell) && cells.every(isNumber) ? "r" : "l";
  }

  /* A row of one text over all columns is a heading of those below it. */
  function heading(text, columns) {
    const width = text.length > 2 * longest ? "p{0.95\\linewidth}" : "l";
    return `\\multicolumn{${columns}}{${width}}{\\emph{${escaped(text)}}} \\\\`;
  }

  function table(rows, said) {
    const heads = rows.filter(({ isHead }) => isHead);
    const body = rows.filter(({ isHead }) => !isHead);
    const columns = Math.max(1, ...rows.map(({ texts }) => texts.length));
    const whole = body.filter(({ isWhole }) => isWhole);
    const forms = [...Array(columns).keys()].map((i) => form(whole.map(({ texts }) => texts[i] ?? ""), columns));
    const isLong = body.length > rowsOfPage;
    const kind = isLong ? "longtable" : "tabular";
    const lines = [
      comment(said), comment(`It needs \\usepackage{booktabs${isLong ? ",longtable" : ""}}.`),
      `\\begin{${kind}}{${forms.join("")}}`, "\\toprule",
    ];
    for (const { texts } of heads) lines.push(line(texts));
    if (heads.length) lines.push("\\midrule", ...(isLong ? ["\\endhead"] : []));
    body.forEach(({ texts, isWhole }, i) => {
      if (isWhole) lines.push(line(texts));
      else lines.push(...(i ? ["\\addlinespace"] : []), heading(texts[0], columns));
    });
    return [...lines, "\\bottomrule", `\\end{${kind}}`, ""].join("\n");
  }

  return { escaped, comment, table };
})();
