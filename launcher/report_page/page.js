
// SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
  // --- Tables are sorted by the headings of their columns ---

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
  };
  // Numbers come before texts, such as "-".
  const compare = (a, b) => typeof a === typeof b
      ? (typeof a === "number" ? a - b : a.localeCompare(b, undefined, {numeric: true}))
      : (typeof a === "number" ? -1 : 1);

  const sort = (table, heading) => {
    const column = heading.cellIndex;
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = [...table.tBodies[0].rows].map(row => [keyOf(row, column), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    for (const each of heading.parentElement.cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    table.tBodies[0].append(...rows.map(row => row[1]));
  };

  for (const table of document.querySelectorAll("table.sortable"))
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }

  // --- A link to a log opens it ---

  const openTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target === null || target.tagName !== "DETAILS") return;
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // --- Logs are filtered line by line ---

  const form = document.getElementById("log-filter");
  if (form === null) return;
  const markAt = 15;  // in a line, after "11-24 15:50:01 "
  const logs = [...document.querySelectorAll("details.log")].map(element => {
    const pre = element.querySelector("pre");
    return {element, pre, hits: element.querySelector(".hits"), text: pre ? pre.textContent : "",
            rank: Number(element.dataset.rank), trial: Number(element.dataset.trial)};
  });

  // "0,4-7" as a test of numbers; what is no such list lets all pass.
  const numbers = text => {
    const parts = text.split(",").map(part => /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(part));
    if (parts.some(part => part === null)) return () => true;
    const ranges = parts.map(part => [Number(part[1]), Number(part[2] ?? part[1])]);
    return number => ranges.some(([first, last]) => first <= number && number <= last);
  };

  const filter = () => {
    const wanted = form.elements.text.value.toLowerCase();
    const stream = form.elements.stream.value;
    const isRank = numbers(form.elements.ranks.value);
    const isTrial = form.elements.trials ? numbers(form.elements.trials.value) : () => true;
    const isAll = wanted === "" && stream === "";
    let lines = 0;
    let shown = 0;
    for (const log of logs) {
      let hits = 0;
      const isChosen = isRank(log.rank) && isTrial(log.trial);
      if (isChosen && !isAll) {
        const kept = log.text.split("\n").filter(line => line !== "" &&
            (stream === "" || line[markAt] === stream) && line.toLowerCase().includes(wanted));
        hits = kept.length;
        if (log.pre && hits > 0) log.pre.textContent = kept.join("\n");
      } else if (isChosen && log.pre && log.pre.textContent !== log.text) {
        log.pre.textContent = log.text;
      }
      log.element.hidden = !isChosen || (!isAll && hits === 0);
      log.hits.textContent = isAll || hits === 0 ? "" : hits + (hits === 1 ? " line" : " lines");
      lines += hits;
      if (!log.element.hidden) ++shown;
    }
    document.getElementById("log-count").textContent =
        (isAll ? "" : lines + " lines in ") + shown + " of " + logs.length + " logs";
  };

  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 120);
  });
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  filter();
})();
