"""What is measured, and which paths are one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.errors import UsageError
from stackproof.measure import sources
from stackproof.measure.sources import Sources


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package in `src`, one at its top, and a stack with one."""
    for name in ("src/lib", "top", "stacks/shop/shop", "tests/integration"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("src/lib", "top", "stacks/shop/shop"):
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "one.py").touch()
    return tmp_path


def test_relative_paths_of_the_configuration_belong_to_the_project(project: Path) -> None:
    options = {
        "source": ["src", "lib", "/elsewhere"],
        "source_pkgs": ["other"],
        "source_dirs": ["later"],
        "include": ["src/*", "*/models/*"],
        "omit": ["tests/*", "/abs/*", "?x"],
    }

    found = sources.configured(options, project)

    assert found == Sources(
        folders=(f"{project}/src", f"{project}/later"),
        packages=("lib", "/elsewhere", "other"),
        include=(f"{project}/src/*", "*/models/*"),
        omit=(f"{project}/tests/*", "/abs/*", "?x"),
    )


def test_paths_of_the_command_line_are_folders_files_or_packages(project: Path) -> None:
    assert sources.named("src, some.package", project, "--coverage") == Sources(
        folders=(f"{project}/src",), packages=("some.package",)
    )
    assert sources.named("one.py", project, "--coverage") == Sources(include=(f"{project}/one.py",))


def test_a_file_beside_a_folder_stands_for_its_folder(project: Path) -> None:
    # coverage looks at no file patterns where there is a source.
    assert sources.named("src,one.py", project, "--coverage") == Sources(folders=(f"{project}/src", f"{project}"))


@pytest.mark.parametrize("text", ["../x", "no/such", "a-b", "x.py.txt!"])
def test_anything_else_is_refused_with_its_origin(project: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"STACKPROOF_COVERAGE: .* is neither a folder"):
        sources.named(text, project, "STACKPROOF_COVERAGE")


def test_without_a_word_it_is_the_project_and_the_stack_but_not_the_tests(project: Path) -> None:
    found = sources.everything(project, [project / "stacks" / "shop", Path("/opt/other")], "tests/integration")

    assert found.folders == (str(project), f"{project}/stacks/shop", "/opt/other")
    assert f"{project}/tests/*" in found.omit


def test_in_a_container_the_stack_is_where_its_image_has_it(project: Path) -> None:
    shop = project / "stacks" / "shop"
    here = Sources(
        folders=(f"{shop}/shop", f"{project}/src"), omit=(f"{shop}/shop/old/*", "*/x.py"), include=(f"{shop}/a.py",)
    )

    there = sources.inside(here, here=shop, there="/stack", seen=False)

    assert there.folders == ("/stack/shop",)
    # What was built into the image as a package is known by its name.
    assert there.packages == ("shop", "lib")
    assert there.omit == ("/stack/shop/old/*", "*/x.py")
    assert there.include == ("/stack/a.py",)


def test_of_a_whole_project_the_container_has_the_stack(project: Path) -> None:
    there = sources.inside(Sources(folders=(str(project),)), here=project / "stacks/shop", there="/stack", seen=False)

    assert there.folders == ("/stack",)
    assert there.packages == ("top", "lib")


def test_where_the_tests_are_inside_too_the_project_is_seen_there(project: Path) -> None:
    there = sources.inside(Sources(folders=(str(project),)), here=project / "stacks/shop", there="/stack", seen=True)

    assert there.folders == ("/stack", str(project))


def test_the_same_file_has_one_name(project: Path) -> None:
    found = sources.aliases(Sources(folders=(f"{project}/src",)), here=project / "stacks/shop", there="/stack")

    assert found == {
        "stack": [f"{project}/stacks/shop", "/stack"],
        f"package {project}/src/lib": [f"{project}/src/lib", "*/site-packages/lib", "*/dist-packages/lib"],
    }
