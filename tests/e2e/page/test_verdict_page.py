"""The page in a real browser: read, filtered, opened, by keyboard, light and dark, on a phone, and when it is large."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.e2e.page.conftest import Open

WORDS = {"pass": "PASS", "fail": "FAIL", "unproven": "NOT PROVEN"}
FOUND = "document.getElementById('found').textContent"
FOCUSED = "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("dark", [False, True])
def test_the_verdict_is_what_is_seen_first(show: Open, kind: str, dark: bool) -> None:
    page = show(kind, dark=dark)
    assert page.text("h1") == WORDS[kind]
    top, size = page.evaluate(
        "(() => { const h = document.querySelector('h1'); return [h.getBoundingClientRect().top, "
        "parseFloat(getComputedStyle(h).fontSize)]; })()"
    )
    assert top < 200
    assert size >= 40


# The least contrast of all texts that are seen, by WCAG 2.2's formula, with where it is.
CONTRAST = """
(() => {
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = t => t.match(/[\\d.]+/g).map(Number);
  const ground = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, e = node.parentElement;
    if (!node.data.trim() || /^(SCRIPT|STYLE|OPTION)$/.test(e.tagName) || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), svg = e.ownerSVGElement;
    if (svg && e.tagName !== "text") continue;
    const a = light(parse(svg ? style.fill : style.color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.className + ": " + node.data.trim().slice(0, 40)];
  }
  return worst;
})()
"""


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read(show: Open, kind: str, dark: bool) -> None:
    page = show(kind, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where


def test_the_system_decides_between_light_and_dark_until_someone_does(show: Open) -> None:
    page = show("pass")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.prefer("dark")
    dark = page.evaluate(ground)
    assert light != dark
    page.evaluate("document.getElementById('theme').click()")
    assert page.text("#theme") == "Theme: light"
    assert page.evaluate(ground) == light
    page.load_again()
    assert page.evaluate(ground) == light, "it is remembered"
    page.evaluate("document.getElementById('theme').click()")
    page.prefer("light")
    assert page.evaluate(ground) == dark
    page.evaluate("document.getElementById('theme').click()")
    assert page.text("#theme") == "Theme: system"
    assert page.evaluate(ground) == light


def test_the_keyboard_is_enough(show: Open) -> None:
    page = show("fail")
    page.press("Tab")
    assert page.text(":focus") == "Skip to the details"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0, "it shows itself"
    page.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page.press("Tab")
    assert page.evaluate(FOCUSED) == "SUMMARY"
    assert page.evaluate("document.activeElement.parentElement.open") is True
    page.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is False
    page.press(" ")
    assert page.evaluate("document.activeElement.parentElement.open") is True
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid", "where the focus is can be seen"


def test_focus_goes_down_the_page_and_never_gets_caught(show: Open) -> None:
    page = show("fail")
    tops = []
    for _ in range(200):
        page.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        tops.append(page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY"))
    else:
        pytest.fail("the focus never left the page")
    assert len(tops) > 20
    assert sum(later < earlier - 60 for earlier, later in pairwise(tops[1:])) == 0


def test_a_reason_leads_to_its_rule_and_opens_it(show: Open) -> None:
    page = show("unproven")
    page.evaluate("document.querySelectorAll('#rules details').forEach(each => { each.open = false; })")
    page.evaluate("document.querySelector('.reasons a').click()")
    assert page.evaluate("document.activeElement.parentElement.open") is True
    assert page.text(":focus .rule-name").endswith("types")


def test_all_rules_open_and_close_at_once(show: Open) -> None:
    page = show("pass")
    number = page.evaluate("document.querySelectorAll('#rules details').length")
    page.evaluate("document.getElementById('expand').click()")
    assert page.evaluate("document.querySelectorAll('#rules details[open]').length") == number == 8
    assert "what it does not say" in page.text("#rules")
    page.evaluate("document.getElementById('collapse').click()")
    assert page.evaluate("document.querySelectorAll('#rules details[open]').length") == 0


def test_tests_are_filtered_by_words_outcome_and_cell(show: Open) -> None:
    page = show("fail")
    page.press("/")
    assert page.evaluate(FOCUSED) == "filter"
    assert page.evaluate("document.getElementById('all-tests').open") is True
    page.until(FOUND, "All 71 tests")
    page.type("server TURN_3")
    page.until(FOUND, "5 of 71 tests")
    assert page.evaluate("document.querySelectorAll('#test-rows tr').length") == 5
    page.press("Escape")
    page.until(FOUND, "All 71 tests")

    def choose(box: str, value: str) -> None:
        page.evaluate(
            f"(() => {{ const box = document.getElementById('{box}'); box.value = '{value}'; "
            "box.dispatchEvent(new Event('input')); })()"
        )

    choose("outcome", "bad")
    assert page.text("#found") == "5 of 71 tests"
    choose("cell", "1")
    assert page.text("#found") == "3 of 71 tests"
    choose("outcome", "f")
    assert page.text("#test-rows td:nth-child(1)") == "failed"
    assert page.text("#test-rows code") == "tests/integration/base/test_chat.py::test_two"
    page.evaluate("document.getElementById('filter').focus()")
    page.type("nothing like it")
    page.until(FOUND, "0 of 71 tests")
    assert page.evaluate("document.getElementById('tests-table').hidden") is True
    page.press("Enter")
    assert page.text("h1") == "FAIL", "Enter sends the page nowhere"


def test_a_slash_in_a_box_is_a_slash(show: Open) -> None:
    page = show("pass")
    page.press("/")
    page.press("/")
    assert page.evaluate("document.getElementById('filter').value") == "/"


@pytest.mark.parametrize("kind", [*WORDS, "hostile"])
def test_a_phone_shows_it_without_scrolling_sideways(show: Open, kind: str) -> None:
    page = show(kind, phone=True, width=390, height=844)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.evaluate("innerWidth") == 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelector('.why').getBoundingClientRect().bottom") < 844
    small = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter(e => e.checkVisibility() "
        "&& e.getBoundingClientRect().height < 40).length"
    )
    assert small == 0, "a finger finds every control"


def test_it_can_be_read_without_scripts(show: Open) -> None:
    page = show("fail", scripts=False)
    # A browser that runs no script of the page still answers the protocol.
    seen = page.seen()
    assert "FAIL" in seen
    assert "assert 1 == 2" in seen
    assert "The list of every test is unpacked by a script." in seen
    assert "Theme" not in seen


def test_hostile_text_does_nothing(show: Open) -> None:
    page = show("hostile")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.press("/")
    page.until(FOUND, "All 5 tests")
    page.type("script")
    page.until(FOUND, "4 of 5 tests")
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.scripts.length") == 3
    assert "<img src=x onerror=alert(2)>" in page.text("#test-rows")


def test_a_script_that_got_in_would_not_run(show: Open) -> None:
    page = show("pass")
    page.evaluate(
        "(() => { const made = document.createElement('script'); made.textContent = 'window.caught = 1'; "
        "document.body.append(made); const image = new Image(); image.src = 'https://example.org/x.png'; })()"
    )
    assert page.evaluate("window.caught") is None
    page.hear(lambda: page.blocked == 1 and len(page.complaints) == 2)
    assert page.blocked == 1
    assert [text for text in page.complaints if "Content Security Policy" in text] == page.complaints
    assert len(page.complaints) == 2
    page.complaints.clear()
    page.requests.remove("https://example.org/x.png")


def test_of_twenty_thousand_tests_those_that_are_looked_for_are_shown_a_part_at_a_time(show: Open) -> None:
    page = show("large")
    page.press("/")
    page.until(FOUND, "All 20,000 tests")
    elements = page.evaluate("document.querySelectorAll('*').length")
    assert elements < 12_000
    rows = page.evaluate(
        "(() => { const box = document.getElementById('filter'); const rows = []; "
        "for (const words of ['a', 'ar', 'area_7', 'area_7 server', '', '9999-value', 'nothing']) { "
        "box.value = words; box.dispatchEvent(new Event('input')); "
        "rows.push(document.querySelectorAll('#test-rows tr').length); } return rows; })()"
    )
    # However many there are: what takes time is making them.
    assert max(rows) == 200
    assert rows[-1] == 0
    page.evaluate("document.getElementById('filter').value = 'area_7'")
    page.evaluate("document.getElementById('filter').dispatchEvent(new Event('input'))")
    assert page.text("#found") == "500 of 20,000 tests"
    assert page.evaluate("document.querySelectorAll('#test-rows tr').length") == 200
    page.evaluate("document.getElementById('more').click()")
    page.evaluate("document.getElementById('more').click()")
    assert page.evaluate("document.querySelectorAll('#test-rows tr').length") == 500
    assert page.evaluate("document.getElementById('more').hidden") is True


def test_a_state_and_a_date_stay_in_one_line_on_a_phone(show: Open) -> None:
    page = show("fail", phone=True, width=390, height=844)
    lines = page.evaluate(
        "[...document.querySelectorAll('td > .tag, .day')].map(e => { const r = document.createRange(); "
        "r.selectNodeContents(e); return new Set([...r.getClientRects()].map(b => b.top)).size; })"
    )
    assert len(lines) >= 3
    assert set(lines) == {1}


def test_a_printed_heading_stays_with_what_it_is_about(show: Open) -> None:
    page = show("fail")
    page.call("Emulation.setEmulatedMedia", media="print")
    kept = page.evaluate(
        "[...document.querySelectorAll('h2, section > p.lead')].map(e => getComputedStyle(e).breakAfter)"
    )
    assert set(kept) == {"avoid"}
