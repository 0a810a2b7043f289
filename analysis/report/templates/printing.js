"use strict";
/* Paper has no summaries to press: what is folded for room is open while the page is printed, but for the values
   of figures, lists of trials and the like. A printer makes a picture of each hatched area, which are most of a
   file's bytes, so the areas have lines meanwhile. */
{
  const opened = [];
  const hatched = [];

  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details.printed:not([open])")) {
      folded.open = true;
      opened.push(folded);
    }
    for (const area of document.querySelectorAll("main [fill^=url]")) {
      const fill = area.getAttribute("fill");
      hatched.push({ area, fill, lines: drawings.hatchByLines(area) });
    }
  });
  addEventListener("afterprint", () => {
    for (const folded of opened.splice(0)) folded.open = false;
    for (const { area, fill, lines } of hatched.splice(0)) {
      area.setAttribute("fill", fill);
      lines.remove();
    }
  });
}
