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
  const longest = 45; /* The most letters of a column that is not folded. */
  const rowsOfPage = 45;
  const letterLine = 76, gap = 3, least = 10, mostTelling = 2;

  const escaped = (text) => [...text.replace(/<=/g, "\u2264").replace(/>=/g, "\u2265")].map((letter) => special[letter] ?? letter).join("");
  const comment = (text) => `% ${text.trim().replace(/\s+/g, " ")}`;

  /* Columns are objects of a name and the texts of the cells below it. */
  const fullest = (texts) => Math.max(0, ...texts.map((text) => text.length));
  const areNumbers = ({ cells }) => cells.some((cell) => cell) && cells.every((cell) => !cell || /^[0-9+\-\u2212\u2014\u221e]/.test(cell));
  const room = (columns) => letterLine - gap * columns.length;
  const isCrowded = (columns) => columns.reduce((sum, { name, cells }) => sum + fullest([name, ...cells]), 0) > room(columns);

  function wrapped(text, most) {
    const lines = [];
    for (const word of text.split(/[ \n\t]+/).filter((each) => each)) {
      const last = lines.at(-1);
      if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  }

  /* The headings of numbers are stacked where the table is crowded. */
  const headings = (columns) => columns.map((one) =>
    isCrowded(columns) && one.name && areNumbers(one) ? wrapped(one.name, Math.max(fullest(one.cells), least)) : [one.name]);

  /* The most letters of each column, and the columns whose texts are folded. */
  function letters(columns) {
    const all = headings(columns).map((lines, i) => fullest([...lines, ...columns[i].cells]));
    const most = isCrowded(columns) ? 2 * least : longest;
    const folded = [...columns.keys()].filter((i) => all[i] > most && !areNumbers(columns[i]));
    const together = folded.reduce((sum, i) => sum + all[i], 0);
    const left = room(columns) - all.reduce((sum, one, i) => sum + (folded.includes(i) ? 0 : one), 0);
    const share = (i) => Math.max(Math.floor((left * all[i]) / together), least);
    return { folded, all: all.map((one, i) => (folded.includes(i) ? share(i) : one)) };
  }

  const width = (columns) => letters(columns).all.reduce((sum, one) => sum + one, gap * columns.length);

  function forms(columns) {
    const { folded, all } = letters(columns);
    return columns.map((one, i) =>
      folded.includes(i) ? `p{${Math.min(all[i] / letterLine, 1).toFixed(2)}\\linewidth}` : areNumbers(one) ? "r" : "l");
  }

  /* The number of first columns that tell rows apart; 1 if more than a few would be needed. */
  function telling(columns) {
    const rows = columns[0].cells.length;
    for (let count = 1; count <= Math.min(mostTelling, columns.length - 1); count += 1) {
      const keys = columns[0].cells.map((_, row) => JSON.stringify(columns.slice(0, count).map(({ cells }) => cells[row])));
      if (new Set(keys).size === rows) return count;
    }
    return 1;
  }

  /* The columns of each part of a table, as many as fit a line, after those that tell rows apart. */
  function parts(columns) {
    const first = [...Array(telling(columns)).keys()];
    const found = [];
    for (let i = first.length; i < columns.length; i += 1) {
      const part = [...(found.at(-1) ?? first), i];
      if (found.length && width(part.map((k) => columns[k])) > letterLine) found.push([...first, i]);
      else found.splice(-1, 1, part);
    }
    return found.length ? found : [first];
  }

  function line(texts, form) {
    const cells = texts.map((text, i) => (form[i][0] === "p" && text ? `\\raggedright ${text}` : text));
    return `${cells.join(" & ")} ${form.at(-1)[0] === "p" ? "\\tabularnewline" : "\\\\"}`;
  }

  const stacked = (lines, form) => {
    const text = lines.map(escaped).join(" \\\\ ");
    return lines.length === 1 || form !== "r" ? text : `\\shortstack[r]{${text}}`;
  };

  /* A row of one text over all columns is a heading of those below it. */
  function heading(text, columns) {
    const width = text.length > 2 * longest ? "p{0.95\\linewidth}" : "l";
    return `\\multicolumn{${columns}}{${width}}{\\emph{${escaped(text)}}} \\\\`;
  }

  function partOf(heads, body, columns, said, which) {
    const form = forms(columns);
    const isLong = body.length > rowsOfPage;
    const kind = isLong ? "longtable" : "tabular";
    const lines = [
      comment(said), comment(`It needs \\usepackage{booktabs${isLong ? ",longtable" : ""}}.${which}`),
      `\\begin{${kind}}{${form.join("")}}`, "\\toprule",
    ];
    if (heads.length === 1) lines.push(line(headings(columns).map((each, i) => stacked(each, form[i])), form));
    else for (const texts of heads) lines.push(line(texts.map(escaped), form));
    if (heads.length) lines.push("\\midrule", ...(isLong ? ["\\endhead"] : []));
    body.forEach(({ texts, isWhole }, i) => {
      if (isWhole) lines.push(line(texts.map(escaped), form));
      else lines.push(...(i ? ["\\addlinespace"] : []), heading(texts[0], columns.length));
    });
    return [...lines, "\\bottomrule", `\\end{${kind}}`, ""].join("\n");
  }

  function table(rows, said) {
    const count = Math.max(1, ...rows.map(({ texts }) => texts.length));
    const heads = rows.filter(({ isHead }) => isHead).map(({ texts }) => texts);
    const body = rows.filter(({ isHead }) => !isHead);
    const whole = body.filter(({ isWhole }) => isWhole);
    const columns = [...Array(count).keys()].map((i) => ({
      name: heads.length === 1 ? heads[0][i] ?? "" : "", cells: whole.map(({ texts }) => texts[i] ?? ""),
    }));
    const every = parts(columns);
    const tables = every.map((part, number) => {
      const pick = (texts) => part.map((i) => texts[i] ?? "");
      const which = every.length > 1 ? ` This is part ${number + 1} of ${every.length}.` : "";
      const cut = body.map(({ texts, isWhole }) => ({ isWhole, texts: isWhole ? pick(texts) : texts }));
      return partOf(heads.map(pick), cut, pick(columns), said, which);
    });
    return tables.join("\n\\bigskip\n");
  }

  return { escaped, comment, table };
})();
