/* Figures for LaTeX by PGFPlots, in the form of `trellis export`, with their values inside. */
const pgfplots = (() => {
  const marks = ["*", "square*", "triangle*", "diamond*", "pentagon*", "otimes*", "halfcircle*", "star"];
  const patterns = ["", "north east lines", "north west lines", "vertical lines", "horizontal lines", "crosshatch", "grid", "dots"];
  const width = 3.33;
  const ratio = 0.62;
  const reach = 0.3;
  const axisLabels = 0.625, gap = 0.2, row = 0.31, nextLine = 0.13, key = 0.6;
  const letter = 8 * 0.5 / 72;
  const { escaped, comment } = latex;
  const rule = (selector) => [...document.styleSheets[0].cssRules].find((one) => one.selectorText === selector)?.style;
  const digits = (value) => String(Number(value.toPrecision(10)));
  const inches = (value) => `${Number(value.toPrecision(4))}in`;

  const ticks = (axis, list) =>
    `${axis}tick={${list.map(([at]) => digits(at)).join(",")}}, ${axis}ticklabels={${list.map(([, text]) => `{${escaped(text)}}`).join(",")}}`;

  /* Lengths are inches; they and the breaks of lines are those of the export. */
  const letters = (length) => Math.max(Math.floor(length / letter), 10);

  function folded(text, most) {
    const lines = [""];
    for (const word of text.split(/\s+/)) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (lines.at(-1) && longer.length > most) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.map(escaped);
  }

  const entry = (label) => `\\addlegendentry{${folded(label, letters(width - key)).join("\\\\")}}`;

  function legendColumns(labels) {
    const longest = Math.max(...labels.map((label) => label.length)) * letter + 0.45;
    return `legend columns=${Math.max(Math.min(Math.floor(width / longest), labels.length), 1)}`;
  }

  function frame(height, x, wide = width) {
    return [
      `width=${inches(wide)}, height=${inches(height)}, scale only axis=false`,
      `xlabel={${escaped(x.label)}}, xmin=${digits(x.low)}, xmax=${digits(x.high)}`,
      ticks("x", x.ticks),
      "/tikz/font=\\footnotesize, axis lines=left, axis line style={-}, scaled ticks=false",
      "legend style={draw=none, at={(0.5,1.03)}, anchor=south, font=\\footnotesize, cells={align=left}}",
      "legend cell align=left",
      "unbounded coords=discard",
    ];
  }

  const axis = (options) => `\\begin{axis}[\n  ${options.join(",\n  ")},\n]`;

  function dash(number) {
    const parts = rule(`.d${number}`)?.strokeDasharray.match(/[\d.]+/g);
    return parts ? `dash pattern=${parts.map((part, i) => `${i % 2 ? "off" : "on"} ${part / 2}pt`).join(" ")}` : "solid";
  }

  const dashed = (one, other) =>
    `\\draw[densely dashed] ${[one, other].map(([x, y]) => `(axis cs:${digits(x)},${digits(y)})`).join(" rectangle ")};`;
  const arrows = (at, turned) =>
    `\\addplot[only marks, mark=triangle*, mark size=1.4pt, mark options={rotate=${turned}}, forget plot] ` +
    `coordinates {${at.map(([x, y]) => `(${digits(x)},${digits(y)})`).join(" ")}};`;
  const coordinates = (points) => `coordinates {${points.map(([x, y]) => `(${digits(x)},${digits(y)})`).join(" ")}};`;

  function series(group, number, points) {
    const [style, dashes] = ["c", "d"].map((kind) => group.querySelector(".line").getAttribute("class").match(`${kind}(\\d)`)[1]);
    const lines = [];
    if (points.some(({ y }) => y.length > 1)) {
      for (const [end, name] of [[1, "low"], [2, "high"]])
        lines.push(`\\addplot[name path=${name}${number}, draw=none, forget plot] ` + coordinates(points.map(({ x, y }) => [x, y[end] ?? y[0]])));
      lines.push(`\\addplot[trellis${style}, opacity=0.2, forget plot] fill between[of=low${number} and high${number}];`);
    }
    const every = Math.max(Math.floor(points.length / 8), 1);
    const look = `trellis${style}, ${dash(dashes)}, mark=${marks[style]}, mark size=1.2pt, mark options={solid}`;
    return [...lines, `\\addplot[${look}, mark repeat=${every}] ` + coordinates(points.map(({ x, y }) => [x, y[0]]))];
  }

  /* A line that is switched off is not drawn, and is named. */
  function ofLines(figure, { x, y, limits }) {
    const { labels, groups, chosen, columns } = values.ofLines(figure);
    const drawn = chosen.filter((i) => !groups[i].hasAttribute("hidden"));
    const lines = [axis([
      ...frame(width * ratio, x),
      `ylabel={${escaped(y.label)}}, ymin=${digits(y.low)}, ymax=${digits(y.high)}`,
      ticks("y", y.ticks),
      ...(x.logarithmic ? ["xmode=log"] : []),
      "ymajorgrids",
      legendColumns(drawn.map((i) => labels[i])),
    ])];
    for (const [first, last, [low, high], isLeast] of limits) {
      lines.push(dashed([first, low], [last, high ?? low]));
      if (high === undefined) lines.push(arrows([[first, low], [last, low]], isLeast ? 0 : 180));
    }
    for (const i of drawn) {
      const points = columns.filter((column) => column[4][i]).map((column) => ({ x: column[3], y: column[4][i] }));
      lines.push(...series(groups[i], i, points));
      if (labels.length > 1) lines.push(entry(labels[i]));
    }
    return { lines, missing: chosen.filter((i) => !drawn.includes(i)).map((i) => labels[i]) };
  }

  function ofBars(figure, { x, limits }) {
    const { scale } = values.told(figure);
    const rows = values.ofBars(figure).rows.map((row) => row.map((cell, i) => (i > 3 && cell !== null ? cell * scale : cell)));
    const bars = [...new Map(rows.map(([number, name]) => [number, name]))];
    const parts = [...new Map(rows.map(([, , number, name]) => [number, name]))];
    const place = new Map(bars.map(([number], i) => [number, i]));
    const several = parts.length > 1;
    const hasIntervals = !several && rows.some((row) => row.length > 5 && row[6] !== null);
    const texts = [...figure.querySelectorAll(".row:not([data-out]) .row-value")].map((text) => text.textContent);
    const room = letters(width - 0.2) - Math.max(...texts.map((text) => text.length));
    const names = bars.map(([, name]) => folded(name, Math.max(room, 10)));
    const height = row + nextLine * (Math.max(...names.map((name) => name.length)) - 1);
    const lines = [axis([
      ...frame(height * bars.length + 0.6, x, width + axisLabels - gap),
      several ? "xbar stacked" : "xbar, bar shift=0pt",
      "bar width=8pt, xmajorgrids, y dir=reverse",
      `ymin=-0.85, ymax=${digits(bars.length - 0.6)}`,
      "ytick=\\empty",
      legendColumns(parts.map(([, name]) => name)),
    ])];
    for (const [part, name] of parts) {
      const of = `trellis${part % 8}`;
      const pattern = part % 8 ? `, postaction={pattern=${patterns[part % 8]}, pattern color=${of}}` : "";
      const points = rows.filter((row) => row[2] === part).map(([bar, , , , value, , high]) =>
        `(${digits(value)},${place.get(bar)})` + (hasIntervals && high !== null ? ` +- (${digits(high - value)},0)` : ""));
      lines.push(`\\addplot[draw=${of}, fill=${of}!28${pattern}${hasIntervals ? ", error bars/.cd, x dir=both, x explicit" : ""}] coordinates {${points.join(" ")}};`);
      if (several) lines.push(entry(name));
    }
    names.forEach((name, i) => {
      for (const [at, anchor, text] of [[x.low, "west", name.join("\\\\")], [x.high, "east", escaped(texts[i])]])
        lines.push(`\\node[anchor=${anchor}, align=left, inner xsep=1pt] at (axis cs:${digits(at)},${digits(i - 0.5)}) {${text}};`);
    });
    for (const [bar, [low, high], isLeast] of limits) {
      const at = place.get(bar);
      if (at === undefined) continue;
      lines.push(dashed([low, at - reach], [high ?? low, at + reach]));
      if (high === undefined) lines.push(arrows([[low, at]], isLeast ? -90 : 90));
    }
    return { lines, missing: [] };
  }

  /* Returns a figure after the comment `said`. */
  function figure(drawn, said) {
    const told = values.told(drawn);
    const { lines, missing } = (told.rows ? ofBars : ofLines)(drawn, told);
    const colours = marks.map((_, i) => rule(":root").getPropertyValue(`--c${i}`).trim().slice(1).toUpperCase());
    return [
      comment(said + (missing.length ? ` Not drawn: ${missing.join("; ")}.` : "")),
      comment("It needs \\usepackage{pgfplots}, \\pgfplotsset{compat=1.16}, \\usepgfplotslibrary{fillbetween} and \\usetikzlibrary{patterns}."),
      ...colours.map((of, i) => `\\definecolor{trellis${i}}{HTML}{${of}}`),
      "\\begin{tikzpicture}", ...lines, "\\end{axis}", "\\end{tikzpicture}", "",
    ].join("\n");
  }

  return { figure };
})();
