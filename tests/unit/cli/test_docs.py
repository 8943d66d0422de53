"""`stackproof docs`: which pages there are, which is meant, what is found in them, and how a terminal shows one."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem

from stackproof.cli import completing, main
from stackproof.cli.pages import contents, naming, paging, searching, setting
from stackproof.cli.pages.contents import Page
from stackproof.errors import ExitCode, UsageError

ROOT = Path(__file__).parents[3]
PAGES = contents.known(contents.folder())
NAMES = [page.name for page in PAGES]
# A person at a terminal, as far as variables say.
PERSON = {"PATH": os.environ["PATH"], "TERM": "xterm"}
Command = Callable[..., int]


@pytest.fixture(name="command")
def _command(tmp_path: Path) -> Command:
    return lambda *argv: main.main(["docs", *argv], environ={}, project=tmp_path)


def test_the_list_is_what_the_site_has_at_its_side() -> None:
    current = (ROOT / "docs" / contents.LIST).read_text(encoding="utf-8")
    assert current == contents.listed(ROOT), "write it again: python -m stackproof.cli.reference_pages docs/reference"
    assert {page.path for page in PAGES} == set((ROOT / "docs").rglob("*.md"))
    assert all(page.title for page in PAGES)


def test_all_pages_are_listed_below_their_headings(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command() == ExitCode.PASS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Start"
    tops = [line for line in lines if line and not line.startswith(" ") and "  " not in line]
    assert tops == list(dict.fromkeys(page.below[0] for page in PAGES if page.below))
    assert [line.split()[0] for line in lines if "  " in line.strip()] == NAMES
    assert max(map(len, lines)) <= 80
    assert command("--json") == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    assert [each["name"] for each in told["pages"]] == NAMES
    assert set(told["pages"][0]) == {"name", "title", "below", "path"}


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("faults", "faults"),
        ("faults.md", "faults"),
        ("docs/faults.md", "faults"),
        ("./docs/how-to/docker.md", "how-to/docker"),
        ("../recordings/check.md#what-is-used", "recordings/check"),
        ("prune", "recordings/prune"),
        ("Faults", "faults"),
        # The page of that very name, though how-to/ has one too.
        ("edge", "edge"),
        ("adr", "adr/index"),
        ("files", "reference/files/index"),
    ],
)
def test_a_page_is_found_by_its_name_with_and_without_folder_and_ending(word: str, name: str) -> None:
    assert naming.find(word, PAGES).name == name


@pytest.mark.parametrize(
    ("word", "sentence", "hint"),
    [
        ("fautls", "no page is named 'fautls', did you mean 'faults'?", "stackproof docs lists them"),
        ("recordings/purne", "no page is named 'recordings/purne', did you mean 'recordings/prune'?", ""),
        ("how-to/prune", "no page is named 'how-to/prune'", ""),
        ("zzz", "no page is named 'zzz'", "--search WORD"),
        ("", "no page is named ''", ""),
        ("docker", "'docker' may be one of 2 pages", "stackproof docs how-to/docker\nstackproof docs stacks/docker"),
    ],
)
def test_a_name_that_no_page_or_several_have_is_one_sentence(word: str, sentence: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        naming.find(word, PAGES)
    assert caught.value.message.startswith(sentence)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "argv",
    [
        ["--path", "--search", "x"],
        ["--schemas", "--path"],
        ["--schemas", "faults"],
        ["--path", "--json"],
        ["--search", " "],
        ["--search", "no page says quite this"],
        ["faults", "--search", "vcrpy"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_answered_is_exit_2(
    command: Command, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert command(*argv) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("✗ ")


def test_elsewhere_than_on_a_terminal_a_page_is_its_file(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("faults") == ExitCode.PASS
    assert capsys.readouterr().out == (ROOT / "docs/faults.md").read_text(encoding="utf-8")


def test_paths_are_told_for_an_editor(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("prune", "--path") == command("--path") == command("--schemas") == ExitCode.PASS
    page, folder, schemas = map(Path, capsys.readouterr().out.splitlines())
    assert page == ROOT / "docs/recordings/prune.md"
    assert folder == ROOT / "docs"
    assert (schemas / "stack.json").is_file()


def test_a_shell_is_offered_pages() -> None:
    offered: list[CompletionItem[str]] = completing.page(
        click.Context(main.cli), click.Argument(["page"]), "recordings/p"
    )
    assert [(item.value, item.help) for item in offered] == [
        ("recordings/prune", "Remove what is not used"),
        ("recordings/patch", "For a pull request"),
    ]


@pytest.fixture(name="two")
def _two(tmp_path: Path) -> list[Page]:
    texts = {
        "a": "# A\n\nIt says that a word\ncan be broken.\n\n| `… is not ready: … after … s` | wait | a `/` |\n",
        "b": "Nothing of a Word can be here, ready or not.\n| `…: …` |\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    return [Page(name=name, title="", below=(), path=tmp_path / f"{name}.md") for name in texts]


def said() -> Iterator[str]:
    """Every text of the code that is no docstring, and of the files that init writes."""
    yield from (path.read_text(encoding="utf-8") for path in (ROOT / "runner/stackproof").rglob("*.j2"))
    for path in sorted((ROOT / "runner/stackproof").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                yield node.value


def test_messages_name_pages_that_are_there_and_no_file_that_a_wheel_has_not() -> None:
    texts = list(said())
    names = {name for text in texts for name in re.findall(r"stackproof docs ([a-z][\w/-]*)", text)} - {
        "lists",
        "looks",
    }
    assert {"adopting", "edge", "faults", "ids", "recording", "servers"} <= names
    for name in names:
        naming.find(name, PAGES)
    # Texts that are written into this repository itself may name its files.
    ours = ("docs/benchmarks.md", "docs/peers.md")
    assert [text for text in texts if re.search(r"docs/[\w/-]+\.md", text) and not any(map(text.count, ours))] == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("a word can be", [("a", 3), ("b", 1)]),
        ("✗ shop is not ready: GET / said 503 after 30.5 s", [("a", 6)]),
        ("shop is never ready: GET / said 503 after 30.5 s", []),
        ("ready nothing", [("b", 1)]),
        ("READY", [("a", 6), ("b", 1)]),
        ("(.*", []),
    ],
)
def test_words_and_errors_are_found_with_their_lines(two: list[Page], words: str, found: list[tuple[str, int]]) -> None:
    assert [(hit.page, hit.line) for hit in searching.search(two, words)] == found


def test_what_is_found_can_be_read_by_people_and_programs(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "setup 'gpt' needs OPENAI_API_KEY for live, which the environment lacks"
    assert command("--search", sentence) == ExitCode.PASS
    found = {line.partition(":")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert {"reference/messages", "troubleshooting"} <= found.keys()
    assert command("troubleshooting", "--search", sentence, "--json") == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    (hit,) = told["found"]
    assert f"troubleshooting:{hit['line']}: {hit['text']}" == found["troubleshooting"]


MARKDOWN = """\
# A page of code

<!-- of no use to a person -->

It says `--yes` and leads to [another](../faults.md#grammar), to [one](https://models.test/x), to [a part](#part) and
to [a file](../../README.md). ![A drawing](a.svg)

## Part

```
stackproof run --file tests/integration/base/test_chat_stream.py --stack-config library:reference --inject cut:3

  two
```

| fault | what happens |
|---|---|
| `cut:N` | the stream ends |

| one | two | three | four |
|---|---|---|---|
| `STACKPROOF_STACK_CONFIGURATION` | `STACKPROOF_STACK_CONFIGURATION` | | a sentence that is long enough to be broken |
"""


SET = """\
A page of code
══════════════
It says `--yes` and leads to another (faults), to one (https://models.test/x),
to a part and to a file. (picture: A drawing)
Part
────
    stackproof run --file tests/integration/base/test_chat_stream.py --stack-config library:reference --inject cut:3
      two
fault    what happens
────────────────────────
`cut:N`  the stream ends
`STACKPROOF_STACK_CONFIGURATION`
  two: `STACKPROOF_STACK_CONFIGURATION`
  four: a sentence that is long enough to be broken
"""


def test_a_page_is_set_for_a_terminal_of_80_columns() -> None:
    shown = setting.page(MARKDOWN, name="how-to/x", width=80, colour=False)
    # Which lines are left empty differs between versions of rich.
    assert [line for line in shown.splitlines() if line.strip()] == SET.splitlines()


def test_colour_marks_code_in_the_place_of_backticks() -> None:
    shown = setting.page(MARKDOWN, name="how-to/x", width=80, colour=True)
    assert "\x1b[36m--yes\x1b[0m" in shown
    assert "`" not in shown


@pytest.mark.parametrize("name", [page.name for page in PAGES if page.below[:1] != ("Reference",)])
def test_every_page_can_be_set(name: str) -> None:
    page = naming.find(name, PAGES)
    shown = setting.page(page.text(), name=name, width=80, colour=False)
    heading = page.text().partition("\n")[0].removeprefix("# ")
    assert shown.partition("\n")[0] == heading


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"PAGER": "more -s"}, "more -s"),
        ({"PAGER": ""}, None),
        ({"PAGER": "cat"}, None),
        ({"PATH": "/nowhere"}, None),
    ],
)
def test_the_pager_is_the_persons(environ: Mapping[str, str], expected: str | None) -> None:
    assert paging.program(environ) == expected


def test_less_is_the_pager_of_who_names_none(tmp_path: Path) -> None:
    (tmp_path / "less").touch(mode=0o755)
    assert paging.program({"PATH": str(tmp_path)}) == "less"


def test_a_pager_gets_the_text_and_says_whether_it_is_there(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    kept = tmp_path / "kept"
    assert paging.show("a word\n", f"printenv LESS > '{kept}'; cat >> '{kept}'", {"PATH": PERSON["PATH"]})
    assert kept.read_text() == "FRX\na word\n"
    # One that is left before the end is no error.
    assert paging.show("a word\n" * 100_000, "true", PERSON)
    assert not paging.show("a word\n", "no-such-pager 2>/dev/null", PERSON)
    assert signal.getsignal(signal.SIGINT) is before


def test_who_has_read_enough_may_leave(tmp_path: Path) -> None:
    # More than a pipe holds.
    line = f"{shlex.quote(sys.executable)} -m stackproof docs --search e | head -c 6; echo ${{PIPESTATUS[0]}}"
    variables = {**PERSON, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", line], env=variables, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("index:0\n", "")


@pytest.mark.parametrize(
    ("environ", "begins"),
    [
        ({"PAGER": "sed s/^/paged:/", "NO_COLOR": "1"}, "paged:Faults on the wire\npaged:═══"),
        ({"PAGER": "sed s/^/paged:/"}, "paged:\x1b[1mFaults on the wire\x1b[0m\npaged:═══"),
        ({"PAGER": "no-such-pager 2>/dev/null", "NO_COLOR": "1"}, "Faults on the wire\n═══"),
        ({"PAGER": "sed s/^/paged:/", "CI": "true"}, "# Faults on the wire\n"),
    ],
    ids=["no colour", "colour", "no pager", "CI"],
)
def test_on_a_terminal_a_page_goes_through_the_pager(environ: Mapping[str, str], begins: str, tmp_path: Path) -> None:
    variables = {**PERSON, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(sys.path), **environ}
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "stackproof", "docs", "faults"],
        stdin=subprocess.DEVNULL, stdout=theirs, env=variables, cwd=tmp_path,
    )  # fmt: skip
    os.close(theirs)
    end = threading.Timer(60, child.kill)
    end.start()
    shown = b""
    # A terminal that nobody writes to any more ends with an error, or as a file does.
    with contextlib.suppress(OSError):
        while chunk := os.read(ours, 65536):
            shown += chunk
    os.close(ours)
    assert child.wait() == ExitCode.PASS
    end.cancel()
    assert shown.decode().replace("\r\n", "\n").startswith(begins)
