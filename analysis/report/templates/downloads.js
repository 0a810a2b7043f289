/* The buttons below figures and tables. */
{
  function download(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function button(text, label, act) {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = text;
    one.setAttribute("aria-label", label);
    one.addEventListener("click", act);
    return one;
  }

  const file = (form, what, name, type, text) =>
    button(form, `Download ${what} as ${form}`, () => download(name, type, text()));

  function bar(...buttons) {
    const all = document.createElement("div");
    all.className = "take";
    all.append(...buttons);
    return all;
  }

  /* The first line of a file for LaTeX says where it is from. */
  const said = (title) => {
    const invalid = document.querySelector(".verdict.invalid") ? "THE RUN IS INVALID. " : "";
    return `${invalid}${title}, of the report ${document.title}.`;
  };

  for (const figure of document.querySelectorAll(".chart, .event, .graph")) {
    const heading = figure.querySelector("h3, h4") || figure.closest("section").querySelector("h2");
    const headings = [figure.closest(".many")?.querySelector("h3"), heading];
    const title = headings.filter((each) => each).map((each) => each.textContent.trim()).join(", ");
    const svg = figure.querySelector(":scope > svg, svg.tree");
    const label = figure.querySelector("thead th");
    const what = `the figure “${title}”`;
    const { id } = figure;
    const buttons = [
      file("SVG", what, `${id}.svg`, "image/svg+xml", () => drawings.text(figure, svg, title)),
      button("PDF", `Print ${what}, or save it as PDF`, () => drawings.print(figure, svg, title)),
    ];
    if (figure.querySelector("script"))
      buttons.push(file("CSV", what, `${id}.csv`, "text/csv", () => values.csv(values.ofFigure(figure, label?.textContent))));
    if (figure.matches(".chart"))
      buttons.push(file("PGFPlots", what, `${id}.tex`, "application/x-tex", () => pgfplots.figure(figure, said(title))));
    figure.append(bar(...buttons));
  }

  const tables = [...document.querySelectorAll("main table")].filter((table) => !table.closest(".chart"));
  tables.forEach((table, index) => {
    const place = table.closest("section") || document.querySelector("main");
    const heads = [...place.querySelectorAll("h2, h3")];
    const before = heads.filter((head) => head.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
    const heading = table.caption || before.at(-1) || document.querySelector("h1");
    const first = table.caption ? "" : table.rows[0].cells[0].textContent.trim();
    const title = heading.textContent.trim() + (first && `: ${first}`);
    const name = `${place.id || "table"}-${index + 1}`;
    const what = `the table “${title}”`;
    const buttons = bar(
      file("CSV", what, `${name}.csv`, "text/csv", () => values.csvOfTable(table)),
      file("LaTeX", what, `${name}.tex`, "application/x-tex", () => latex.table(values.ofTable(table), said(title))),
    );
    if (table.parentElement.matches(".scroll")) table.after(buttons);
    else (table.caption || table.parentElement).append(buttons);
  });
}
