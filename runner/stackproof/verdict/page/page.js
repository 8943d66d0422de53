(function () {
  "use strict";
  var root = document.documentElement;
  var byId = function (id) { return document.getElementById(id); };

  // Light, dark, or as the system has it.
  var theme = byId("theme");
  var order = ["system", "light", "dark"];
  function current() { return root.dataset.theme || "system"; }
  function label() { theme.textContent = "Theme: " + current(); }
  theme.addEventListener("click", function () {
    var next = order[(order.indexOf(current()) + 1) % order.length];
    if (next === "system") delete root.dataset.theme; else root.dataset.theme = next;
    try {
      if (next === "system") localStorage.removeItem("stackproof-theme");
      else localStorage.setItem("stackproof-theme", next);
    } catch (error) { /* not remembered */ }
    label();
  });
  label();

  // A link to a rule opens it.
  function reveal() {
    var target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.querySelector("summary").focus({ preventScroll: true });
    }
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // All rules at once.
  function every(open) {
    document.querySelectorAll("#rules details").forEach(function (each) { each.open = open; });
  }
  byId("expand").addEventListener("click", function () { every(true); });
  byId("collapse").addEventListener("click", function () { every(false); });

  // The tests, unpacked when they are looked at for the first time.
  var STEP = 200;
  var WORDS = {
    p: "passed", f: "failed", e: "error", s: "skipped", x: "expected failure", u: "unexpected pass", k: "flaky"
  };
  var box = byId("filter"), outcome = byId("outcome"), cell = byId("cell");
  var body = byId("test-rows"), said = byId("found"), more = byId("more"), table = byId("tests-table");
  var data = null, lower = null, matching = [], shown = 0;

  function unpack() {
    data = JSON.parse(byId("data").textContent);
    lower = data.tests.map(function (test) {
      return (name(test) + " " + data.cells[test[2]]).toLowerCase();
    });
  }
  function name(test) { return data.files[test[0]] ? data.files[test[0]] + "::" + test[1] : test[1]; }
  function took(test) {
    var value = test[4];
    if (value === null) return "";
    return value < 10 ? value.toFixed(1) + " ms" : value < 1000 ? Math.round(value) + " ms" : (value / 1000).toFixed(1) + " s";
  }
  function element(tag, kind, text) {
    var made = document.createElement(tag);
    if (kind) made.className = kind;
    made.textContent = text;
    return made;
  }
  function row(test) {
    var made = document.createElement("tr");
    var state = document.createElement("td");
    state.appendChild(element("span", "tag " + test[3], WORDS[test[3]]));
    made.appendChild(state);
    var named = document.createElement("td");
    named.appendChild(element("code", "", name(test)));
    named.appendChild(element("div", "cells", data.cells[test[2]]));
    made.appendChild(named);
    made.appendChild(element("td", "number", took(test)));
    return made;
  }
  function extend() {
    var part = document.createDocumentFragment();
    matching.slice(shown, shown + STEP).forEach(function (index) { part.appendChild(row(data.tests[index])); });
    body.appendChild(part);
    shown = Math.min(matching.length, shown + STEP);
    more.hidden = shown >= matching.length;
    more.textContent = "Show " + Math.min(STEP, matching.length - shown) + " more";
  }
  function filter() {
    if (data === null) unpack();
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    var wanted = outcome.value, where = cell.value === "" ? -1 : Number(cell.value);
    matching = [];
    for (var index = 0; index < data.tests.length; index++) {
      var test = data.tests[index];
      if (where >= 0 && test[2] !== where) continue;
      if (wanted === "bad" ? test[3] === "p" : wanted !== "" && test[3] !== wanted) continue;
      if (words.every(function (word) { return lower[index].indexOf(word) >= 0; })) matching.push(index);
    }
    body.textContent = "";
    shown = 0;
    extend();
    table.hidden = matching.length === 0;
    said.textContent = matching.length === data.tests.length
      ? "All " + data.tests.length.toLocaleString("en") + " tests"
      : matching.length.toLocaleString("en") + " of " + data.tests.length.toLocaleString("en") + " tests";
  }
  if (box) {
    [box, outcome, cell].forEach(function (each) { each.addEventListener("input", filter); });
    more.addEventListener("click", function () {
      var first = shown;
      extend();
      var next = body.children[first];
      if (next) { next.tabIndex = -1; next.focus(); }
    });
    var all = byId("all-tests");
    all.addEventListener("toggle", function () { if (all.open && data === null) filter(); });
    if (all.open) filter();
  }
  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && box && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      byId("all-tests").open = true;
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box && box.value) {
      box.value = "";
      filter();
    }
  });
})();
