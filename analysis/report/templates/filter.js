"use strict";
/* The filter of a sweep: it hides what is about variants without the chosen values. The choice is in the address
   behind "#", after the name of a section if there is one: #figures&system.name=vitis,rvr */
for (const form of document.querySelectorAll("#filter")) {
  const told = JSON.parse(form.querySelector("script").textContent);
  const places = new Map(Object.entries(told.labels));
  const variants = new Map(told.variants.map(([name, label, place]) => [name, { label, place }]));
  const chosen = told.keys.map(() => new Set());
  const boxes = [...form.querySelectorAll("input")];
  const some = () => chosen.some((values) => values.size);
  const fits = (place) => place.every((value, i) => value < 0 || !chosen[i].size || chosen[i].has(value));
  const words = (cell) => cell.firstChild?.textContent.replace(/\s+/g, " ").trim() ?? "";
  /* Some figures name a line by its variant and what it is: "vitis, poisson: loss". */
  const isOut = (label, whole) => {
    const place = places.get(label) ?? places.get(label.split(": ")[0]);
    return place !== undefined && !(whole && place.includes(-1)) && !fits(place);
  };
  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const put = (element, out) => element.toggleAttribute("data-out", out);

  const figures = [...document.querySelectorAll(".chart.lines")].map((figure) => {
    const { labels, of = labels, columns } = JSON.parse(figure.querySelector("script").textContent);
    const groups = [...figure.querySelectorAll("svg > .series")];
    const ofVariants = columns.every(([, text]) => places.has(text));
    return {
      figure, of, groups,
      items: [...figure.querySelectorAll(".legend li")],
      shown: groups.map((group) => !group.hasAttribute("hidden")),
      lines: groups.map((group) => group.querySelector(".line").getAttribute("d")),
      columns: ofVariants ? columns : [],
    };
  });

  function filterLines({ figure, of, groups, items, shown, lines, columns }) {
    const active = some();
    const gone = columns.filter(([, text]) => isOut(text)).map(([at]) => at);
    figure.left = columns.length ? (column) => !isOut(column[1]) : () => true;
    groups.forEach((group, i) => {
      const out = isOut(of[i]);
      const isShown = active ? !out : shown[i];
      put(group, out);
      group.toggleAttribute("hidden", !isShown);
      if (items[i]) {
        put(items[i], out);
        items[i].querySelector("button").setAttribute("aria-pressed", String(isShown));
      }
      const at = (x) => gone.some((one) => Math.abs(one - x) < 0.01);
      const steps = lines[i].split(/[ML]/).filter((step) => step && !at(parseFloat(step)));
      group.querySelector(".line").setAttribute("d", gone.length ? steps.map((step, n) => (n ? "L" : "M") + step).join("") : lines[i]);
      for (const part of group.querySelectorAll("[transform], .whisker"))
        put(part, at(parseFloat((part.getAttribute("transform") || part.getAttribute("d")).match(/[\d.]+/)[0])));
      for (const part of group.querySelectorAll(".spread")) put(part, gone.length > 0);
    });
    const none = of.every((label) => isOut(label)) || (columns.length > 0 && gone.length === columns.length);
    put(figure, none);
  }

  const bars = [...document.querySelectorAll(".chart.bars")].map((figure) => {
    const svg = figure.querySelector("svg");
    const rows = [...svg.querySelectorAll(".row")];
    const tops = rows.map((row) => parseFloat(row.querySelector(".bar").getAttribute("y")));
    const feet = [...svg.querySelectorAll(":scope > .tick, :scope > .axis-title")];
    const grid = [...svg.querySelectorAll(":scope > .grid, :scope > .base")];
    return {
      figure, svg, rows, feet, step: tops.length > 1 ? tops[1] - tops[0] : 0, height: svg.viewBox.baseVal.height,
      grid: grid.map((path) => [path, path.getAttribute("d"), parseFloat(path.getAttribute("d").split("V")[1])]),
    };
  });

  function filterBars({ figure, svg, rows, feet, step, height, grid }) {
    let up = 0;
    for (const row of rows) {
      const out = isOut(row.dataset.label);
      put(row, out);
      row.setAttribute("transform", `translate(0 ${-up})`);
      if (out) up += step;
    }
    feet.forEach((part) => part.setAttribute("transform", `translate(0 ${-up})`));
    grid.forEach(([path, d, foot]) => path.setAttribute("d", d.replace(/V.*/, `V${foot - up}`)));
    svg.setAttribute("viewBox", `0 0 ${svg.viewBox.baseVal.width} ${height - up}`);
    put(figure, rows.every((row) => row.hasAttribute("data-out")));
  }

  function filterTable(table) {
    const whole = !table.closest(".chart");
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => isOut(words(cell), whole));
    let left = 0;
    for (const row of table.rows) {
      const cells = [...row.cells];
      if (cells.length === heads.length) cells.forEach((cell, i) => put(cell, heads[i]));
      const out = row.parentElement !== table.tHead && cells.length > 0 && isOut(words(cells[0]), whole);
      put(row, out);
      if (!out && row.parentElement !== table.tHead) left += 1;
    }
    if (whole && table.parentElement.matches(".scroll:not(.pair)")) put(table.parentElement, left === 0 && table.tBodies.length > 0);
  }

  function filterHeat(table) {
    const [ofRow, ofColumn] = table.dataset.keys.split("\n").map((key) => told.keys.findIndex((one) => one.key === key));
    const out = (key, text) => {
      const value = key < 0 ? -1 : told.keys[key].values.indexOf(text);
      return value >= 0 && chosen[key].size > 0 && !chosen[key].has(value);
    };
    const columns = [...table.tHead.rows[0].cells].map((cell, i) => i > 0 && out(ofColumn, words(cell)));
    for (const row of table.rows) {
      [...row.cells].forEach((cell, i) => put(cell, columns[i]));
      if (row.parentElement !== table.tHead) put(row, out(ofRow, words(row.cells[0])));
    }
    put(table.parentElement, table.caption !== null && isOut(words(table.caption)));
  }

  const digitsFor = (value) => (value ? Math.min(Math.max(2 - Math.floor(Math.log10(Math.abs(value))), 0), 6) : 0);

  function number(value, digits) {
    const range = { minimumFractionDigits: digits ?? 0, maximumFractionDigits: digits ?? digitsFor(value) };
    return value.toLocaleString("en-US", range).replace("-", "\u2212");
  }

  /* A mean with the half width of its interval, both with as many decimals as the interval needs. */
  function estimate(mean, half) {
    if (half === null || half === undefined) return number(mean);
    const digits = half ? Math.min(Math.max(digitsFor(half) - 1, 0), digitsFor(mean) + 1) : digitsFor(mean);
    return `${number(mean, digits)}\u2009\u00b1\u2009${half ? number(half, digits) : 0}`;
  }

  const quantity = (value, unit) => number(value) + (unit ? `\u00a0${unit}` : "");

  /* A variant and of how many seeds its mean is, if not of all. */
  const named = ({ seeds }, i) => [told.variants[i][1], seeds[i]].filter(Boolean).join(", ");

  /* The values of a measure in the chosen variants, from the lowest to the highest. */
  function ranked({ means }, indices) {
    return indices.filter((i) => means[i] !== null).sort((a, b) => means[a] - means[b]);
  }

  function ranges(indices) {
    return told.sentences.map((name) => [told.measures[name], ranked(told.measures[name], indices)])
      .filter(([, of]) => of.length)
      .map(([measure, of]) => {
        const { title, verb, unit, means } = measure;
        const text = (i) => {
          const alike = of.filter((one) => means[one] === means[i]).length;
          return `${quantity(means[i], unit)} (${alike > 1 ? `${number(alike)} variants` : named(measure, i)})`;
        };
        const [low, high] = [of[0], of.at(-1)];
        const seeds = of.some((i) => measure.seeds[i]) ? " in every seed that has it" : "";
        const found = means[low] === means[high] ? quantity(means[low], unit) + seeds : `between ${text(low)} and ${text(high)}`;
        const without = indices.length - of.length;
        const none = without ? `; ${without} of ${indices.length} variants ${without === 1 ? "has" : "have"} none` : "";
        return `${title[0].toUpperCase()}${title.slice(1)} ${verb} ${found}${none}.`;
      });
  }

  function comparisons(indices) {
    const kept = new Set(indices);
    const settings = new Map();
    for (const [other, base, one, two, verdicts, amounts, seeds] of told.pairs) {
      const name = `${other} beside ${base}`;
      if (kept.has(one) && kept.has(two)) settings.set(name, [...(settings.get(name) ?? []), { verdicts, amounts, seeds }]);
    }
    const more = settings.size - 4;
    const left = more > 0 ? [`${number(more)} more ${more === 1 ? "is" : "are"} compared by the command below.`] : [];
    const said = [...settings].slice(0, 4).map(([name, each]) => {
      const of = told.titles.map((title, i) => [title, each.map(({ verdicts, amounts }) => [verdicts[i], amounts[i]]).filter(([verdict]) => verdict !== null)])
        .filter(([, found]) => found.some(([verdict]) => !verdict.startsWith("equal")))
        .map(([title, found]) => `${title} ${counted(found, each.length)}`);
      const where = each.length > 1 ? ` in ${each.length} settings` : "";
      const counts = each.map(({ seeds }) => seeds);
      const [least, most] = [Math.min(...counts), Math.max(...counts)];
      const seeds = most === 1 ? "one seed" : `${least === most ? number(most) : `${number(least)} to ${number(most)}`} seeds, ± is the 95 % interval`;
      const chance = most === 1 ? " One seed says nothing of chance." : "";
      return `${name}${where} (${seeds}): ${of.slice(0, 4).join("; ") || "no difference in the first measures"}.${chance}`;
    });
    return [...said, ...left];
  }

  function counted(found, settings) {
    const [[verdict, amount]] = found;
    if (settings === 1) return amount ? `${verdict}, ${amount}` : verdict;
    const size = (text) => Math.abs(Number.parseFloat(text.replace(/[+−,]/g, "")));
    const largest = found.map(([, of]) => of).filter((of) => of).reduce((one, two) => (size(two) > size(one) ? two : one), "0");
    const most = largest === "0" ? "" : ` (largest ${largest})`;
    const counts = new Map();
    found.forEach(([of]) => counts.set(of, (counts.get(of) ?? 0) + 1));
    if (counts.size === 1) return `${verdict} in all${most}`;
    return [...counts].sort((a, b) => b[1] - a[1]).map(([of, count]) => `${of} in ${count}`).join(", ") + most;
  }

  function sayOutcome(indices) {
    const list = document.querySelector(".sentences");
    if (!list) return;
    list.querySelectorAll(".of-chosen").forEach((item) => item.remove());
    list.querySelectorAll(".of-all").forEach((item) => put(item, some()));
    if (!some()) return;
    const items = [...ranges(indices), ...comparisons(indices)].map((sentence) => {
      const item = document.createElement("li");
      item.className = "of-chosen";
      item.textContent = sentence;
      return item;
    });
    list.prepend(...items);
  }

  function sayExtremes(indices) {
    for (const row of document.querySelectorAll("tr[data-measure]")) {
      const measure = told.measures[row.dataset.measure];
      const of = ranked(measure, indices);
      put(row, of.length === 0);
      [of[0], of[(of.length - 1) >> 1], of.at(-1)].forEach((i, at) => {
        if (i === undefined) return;
        row.cells[2 * at + 1].textContent = estimate(measure.means[i], measure.halves[i]);
        row.cells[2 * at + 2].textContent = named(measure, i);
      });
    }
  }

  /* Says which of the chosen variants have curves and bars, if a large sweep draws a few variants alone. */
  function sayDrawn(indices) {
    if (told.drawn.length === told.variants.length || !indices.length) return "";
    const kept = new Set(indices);
    const drawn = told.drawn.filter((i) => kept.has(i)).map((i) => told.variants[i][1]);
    if (drawn.length === indices.length) return "";
    const which = drawn.length ? `${drawn.length} of them: ${drawn.join("; ")}` : "none of them";
    return ` Sentences, measures and heat maps are of all of them, curves and bars of ${which}. ` +
      `A run of at most ${told.most_drawn} variants draws each: leave other values out of vary.`;
  }

  function sayChoice(indices, hidden) {
    const count = indices.length;
    const of = told.keys.map(({ label, values }, i) => [label, values.filter((_, value) => chosen[i].has(value))]);
    const said = of.filter(([, values]) => values.length).map(([label, values]) => `${label} ${values.join(", ")}`);
    const what = count ? `${count.toLocaleString("en-US")} of ${told.variants.length.toLocaleString("en-US")} variants are shown` : "No variant is shown";
    const drawn = hidden && count ? " Figures in which none of them is drawn are left out." : "";
    form.querySelector("[role=status]").textContent = some() ? `${what}: ${said.join("; ")}.${sayDrawn(indices)}${drawn}` : "";
    form.querySelector("[type=reset]").hidden = !some();
  }

  function show() {
    const indices = told.variants.map((_, i) => i).filter((i) => fits(told.variants[i][2]));
    figures.forEach(filterLines);
    bars.forEach(filterBars);
    document.querySelectorAll("main table:not(.heat, .extremes)").forEach(filterTable);
    document.querySelectorAll("main table.heat").forEach(filterHeat);
    for (const many of document.querySelectorAll(".many"))
      put(many, !many.querySelector(".chart:not([data-out]), .scroll:not([data-out]) > .heat"));
    for (const item of document.querySelectorAll(".many > .legend li")) put(item, isOut(item.textContent.trim()));
    for (const part of document.querySelectorAll("[data-variants]"))
      put(part, part.dataset.variants.split("\n").some((name) => variants.has(name) && !fits(variants.get(name).place)));
    sayOutcome(indices);
    sayExtremes(indices);
    sayChoice(indices, document.querySelector(".chart[data-out]") !== null);
  }

  function write() {
    const [anchor] = location.hash.slice(1).split("&");
    const parts = told.keys.map(({ key, values }, i) => [key, values.filter((_, value) => chosen[i].has(value))])
      .filter(([, values]) => values.length)
      .map(([key, values]) => `${encodeURIComponent(key)}=${values.map(encodeURIComponent).join(",")}`);
    const fragment = [...(anchor.includes("=") ? [] : [anchor]), ...parts].join("&");
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  }

  /* Returns the name of a section that the address asks for. */
  function read() {
    const parts = location.hash.slice(1).split("&");
    const asked = parts.filter((part) => part.includes("=")).map((part) => part.split("="));
    if (!asked.length && some()) write();
    else {
      told.keys.forEach(({ key, values }, i) => {
        const [, listed = ""] = asked.find(([name]) => decoded(name) === key) ?? [];
        chosen[i] = new Set(listed.split(",").map((text) => values.indexOf(decoded(text))).filter((value) => value >= 0));
      });
      boxes.forEach((box) => (box.checked = chosen[told.keys.findIndex(({ key }) => key === box.name)].has(Number(box.value))));
    }
    return parts.length > 1 && asked.length ? parts[0] : "";
  }

  form.addEventListener("change", ({ target }) => {
    const values = chosen[told.keys.findIndex(({ key }) => key === target.name)];
    if (target.checked) values.add(Number(target.value));
    else values.delete(Number(target.value));
    write();
    show();
  });
  form.addEventListener("reset", () => {
    chosen.forEach((values) => values.clear());
    write();
    show();
    form.querySelector("summary").focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    read();
    show();
  });
  form.hidden = false;
  const section = read();
  if (some()) show();
  if (section) document.getElementById(decoded(section))?.scrollIntoView();
}
