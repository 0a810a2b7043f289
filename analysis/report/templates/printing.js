"use strict";
/* Paper has no summaries to press: what is folded for room is open while the page is printed, but for the values
   of figures, lists of trials and the like. */
{
  const opened = [];

  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details.printed:not([open])")) {
      folded.open = true;
      opened.push(folded);
    }
  });
  addEventListener("afterprint", () => {
    for (const folded of opened.splice(0)) folded.open = false;
  });
}
