"""From what was found, and what was wished for, to the files that put a project under test. Touches no file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stackproof.adopting import first_test, installing, setting_up, starting
from stackproof.adopting.found import CiSystem, Found, Framework
from stackproof.adopting.rendering import block, render
from stackproof.adopting.setting_up import Choice
from stackproof.adopting.starting import Start
from stackproof.adopting.wishes import Wishes
from stackproof.catalog.records import SetupSpec

WORKFLOW = ".github/workflows/stackproof.yml"
GITIGNORE = ".gitignore"
IGNORED = ("__pycache__/", ".venv/", "venv/", ".nox/", ".env")


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A file. path: relative to the project. what: it is for, in a few words."""

    path: str
    text: str
    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Text that is left to the owner of a file. where: the file. new: it is no file yet, and lies above the project."""

    where: str
    text: str
    what: str
    new: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafted:
    """All of it, and what the words to whoever reads it are made of. notes: what could not be told, a sentence each."""

    drafts: tuple[Draft, ...]
    pieces: tuple[Piece, ...]
    start: Start
    setup: Choice
    test: first_test.FirstTest
    cell: str
    notes: tuple[str, ...]


def draft(found: Found, wishes: Wishes, setups: Mapping[str, SetupSpec], *, python: str) -> Drafted:
    """Of the files that `init` proposes. python: the version that CI takes where the project says nothing, as 3.12."""
    if wishes.app is not None and wishes.app.framework is Framework.DJANGO:
        found = replace(
            found,
            routes=tuple(replace(each, complete=False) if each.method != "GET" else each for each in found.routes),
        )
    start = starting.how(found, wishes.app)
    if wishes.setup is not None and wishes.setup in setups:
        setup = setting_up.of_setup(setups[wishes.setup])
    else:
        setup = setting_up.choose(found, wishes.setup or wishes.name, setups)
    test = first_test.make(found, wishes, start)
    stack = f"{start.usual}:{wishes.name}"
    drafts = [
        _stack(found, wishes, start),
        *_setups(setup),
        Draft(
            path="tests/suites.yaml",
            text=render(
                "suites.yaml",
                root=wishes.tests.rpartition("/")[0],
                name=wishes.name,
                description=f"What must work of {wishes.name}",
                roots=[wishes.tests],
                setup=setup.name,
            ),
            what="its tests, and the setup that they take",
        ),
        Draft(path=f"{wishes.tests}/{test.file}", text=test.text, what="a first test"),
        Draft(
            path="ci/release.yaml",
            text=render(
                "release.yaml",
                suite=wishes.name,
                setup=setup.name,
                stack=stack,
                others=[f"{mode}:{wishes.name}" for mode in start.modes if mode is not start.usual],
                paths=[_code_of(found, wishes)],
            ),
            what="what has to be proven before a release",
        ),
    ]
    if not found.ignores and not found.subfolder and found.framework is not Framework.NODE:
        # Bytecode would be a change that is not committed, and a verdict is about a commit.
        drafts.append(Draft(path=GITIGNORE, text="\n".join(IGNORED) + "\n", what="what Git leaves out"))
    installs = installing.of(found, wishes, start, http=test.http)
    pieces: list[Piece] = []
    if found.noxfile:
        if "noxfile.py" not in found.runs_us:
            pieces.append(_session(found, wishes, installs))
    elif found.framework is not Framework.NODE:
        drafts.append(
            Draft(
                path="noxfile.py",
                text=_noxfile("noxfile.py", wishes, installs),
                what="nox -s integration, verify_release",
            )
        )
    for drafted in _ci(found, wishes, installs, python=python):
        if isinstance(drafted, Draft):
            drafts.append(drafted)
        else:
            pieces.append(drafted)
    return Drafted(
        drafts=tuple(drafts),
        pieces=tuple(pieces),
        start=start,
        setup=setup,
        test=test,
        cell=stack,
        notes=tuple(_notes(found, wishes, start, setup, test)),
    )


def _stack(found: Found, wishes: Wishes, start: Start) -> Draft:
    root = wishes.app.root if wishes.app is not None else first_test.root_of(found)
    shown = found.description or (
        f"{wishes.name}, on {found.framework}" if start.command else f"{wishes.name}, a library"
    )
    return Draft(
        path=f"stacks/{wishes.name}/stack.yaml",
        text=render(
            "stack.yaml",
            description=" ".join(shown.split())[:100],
            modes=[mode.value for mode in start.modes],
            python_path=[] if found.framework is Framework.NODE else ["../.." if root == "." else f"../../{root}"],
            app=start.app,
            command=list(start.command),
            env=dict(start.env),
            edge=start.edge,
            readiness=start.readiness if start.command else None,
        ),
        what="what is tested, and how it starts",
    )


def _setups(setup: Choice) -> Iterator[Draft]:
    if setup.written is not None:
        yield Draft(
            path="stacks/setups.yaml",
            text=render("setups.yaml", body=block({setup.name: setup.written})),
            what="whom it calls, and with which keys",
        )


def _code_of(found: Found, wishes: Wishes) -> str:
    module = (
        wishes.app.module if wishes.app is not None else found.functions[0].module if found.functions else wishes.name
    )
    root = wishes.app.root if wishes.app is not None else first_test.root_of(found)
    top = module.partition(".")[0]
    return top if root == "." else f"{root}/{top}"


def _session(found: Found, wishes: Wishes, installs: installing.Installs) -> Piece:
    name = "stackproof" if "integration" in found.nox_sessions else "integration"
    return Piece(
        where="noxfile.py",
        text=render(
            "session.py", session=name, installs=installs.nox, requirement=wishes.requirement, more=installs.nox_more
        ),
        what="a session for nox",
    )


def _noxfile(name: str, wishes: Wishes, installs: installing.Installs) -> str:
    return render(name, requirement=wishes.requirement, installs=installs.nox, more=installs.nox_more)


def _ci(found: Found, wishes: Wishes, installs: installing.Installs, *, python: str) -> Iterator[Draft | Piece]:
    folder = found.subfolder or ""
    words = {
        "folder": folder,
        "python": installing.python_for(found.python, python),
        "install": installs.ci,
        "runner": installs.runner,
        "evidence": f"{folder}/.stackproof/runs/" if folder else ".stackproof/runs/",
    }
    match wishes.ci:
        case CiSystem.GITHUB:
            text, what = render("github.yml", **words), "a verdict at every change"
            if folder:
                yield Piece(where=f"{WORKFLOW} at the root of the repository", text=text, what=what, new=True)
            else:
                yield Draft(path=WORKFLOW, text=text, what=what)
        case CiSystem.GITLAB:
            text, what = render("gitlab.yml", **words), "a verdict at every change"
            if ".gitlab-ci.yml" in found.runs_us:
                return
            if folder or CiSystem.GITLAB in found.ci:
                yield Piece(where=".gitlab-ci.yml", text=text, what=what)
            else:
                yield Draft(path=".gitlab-ci.yml", text=text, what=what)
        case CiSystem.NONE:
            return


def _notes(found: Found, wishes: Wishes, start: Start, setup: Choice, test: first_test.FirstTest) -> Iterator[str]:
    if wishes.app is None and found.framework is Framework.NONE:
        if not found.python_files:
            yield "there is no Python here and no package.json: this is the frame for a project that is to come"
        else:
            yield "no application of a framework that is known was found: it is taken for a library (--app MODULE:NAME)"
    if found.framework is Framework.NODE and found.node is not None and not found.node.command:
        yield "package.json has no script `start`: put the command of the server into stack.yaml"
    if not setup.sure:
        yield (
            f"no SDK of a model provider was found: the setup {setup.name} is a guess "
            "(--setup NAME; `stackproof setups` lists them)"
        )
    if len(found.apps) > 1 and wishes.app is not None:
        others = ", ".join(app.place for app in found.apps[:4] if app.place != wishes.app.place)
        if others:
            yield f"other applications here: {others} (--app)"
    yield from test.notes
    for path, names in sorted(found.keyed_tests.items()):
        keys = sorted(names.intersection(setup.secrets))
        if keys and not path.startswith(f"{wishes.tests}/"):
            yield (
                f"{path} asks for {' and '.join(keys)}: add it to `roots` in tests/suites.yaml, with `root: "
                f"{found.tests or 'tests'}`, and it is recorded and replayed too"
            )
    if start.readiness is not None and start.readiness.status == 404:
        yield "no health route was found: the server counts as up once it answers 404 to a path that nobody has"
    yield from found.notes
