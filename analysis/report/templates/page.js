"use strict";
{
  const tip = document.getElementById("tip");

  function showTip(title, rows, x, y) {
    tip.replaceChildren();
    const heading = document.createElement(rows.length ? "b" : "span");
    heading.textContent = title;
    tip.append(heading);
    for (const [label, value] of rows) {
      const row = document.createElement("div");
      for (const text of [label, value]) {
        const part = document.createElement("span");
        part.textContent = text;
        row.append(part);
      }
      tip.append(row);
    }
    tip.hidden = false;
    const edge = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const left = x + 14 > edge ? x - tip.offsetWidth - 14 : x + 14;
    tip.style.left = Math.max(8, Math.min(left, edge)) + window.scrollX + "px";
    tip.style.top = Math.max(8, y - tip.offsetHeight - 8) + window.scrollY + "px";
  }

  function hideTip() {
    tip.hidden = true;
  }

  function readLines(figure) {
    const svg = figure.querySelector("svg");
    const { labels, columns } = JSON.parse(figure.querySelector("script").textContent);
    const pointer = svg.querySelector(".pointer");
    const groups = [...svg.querySelectorAll(".series")];
    /* The filter leaves some of the columns. */
    const left = () => columns.map((_, i) => i).filter((i) => !figure.left || figure.left(columns[i]));
    let current = -1;

    function show(index) {
      current = index;
      const [at, text, values] = columns[index];
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      pointer.setAttribute("d", `M${at} ${svg.dataset.top}V${svg.dataset.bottom}`);
      const rows = labels
        .map((label, i) => [label, values[i], i])
        .filter(([, value, i]) => value !== null && !groups[i].matches("[hidden], [data-out]"));
      showTip(text, rows, box.left + at * scale, box.top + svg.dataset.top * scale + 40);
    }

    function hide() {
      pointer.setAttribute("d", "");
      hideTip();
    }

    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const distance = (i) => Math.abs(columns[i][0] - x);
      show(left().reduce((nearest, i) => (distance(i) < distance(nearest) ? i : nearest)));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const stops = left();
      show(stops[Math.max(0, Math.min(stops.indexOf(current) + step, stops.length - 1))]);
    });
    for (const button of figure.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => {
        const hidden = groups[button.dataset.series].toggleAttribute("hidden");
        button.setAttribute("aria-pressed", String(!hidden));
      });
    }
  }

  document.querySelectorAll(".chart.lines").forEach(readLines);

  for (const part of document.querySelectorAll("[data-tip]")) {
    part.addEventListener("pointermove", (event) => showTip(part.dataset.tip, [], event.clientX, event.clientY));
    part.addEventListener("pointerleave", hideTip);
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
  }
}
