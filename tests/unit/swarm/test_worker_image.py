"""What a worker's image has beside that of the tests: whatever Stackproof needs and nobody has named yet."""

from __future__ import annotations

from stackproof.swarm.worker_image import lacking


def names(requirements: bytes) -> set[str]:
    return {line.partition("==")[0] for line in lacking(requirements).decode().splitlines()}


def test_everything_that_stackproof_needs_is_named_with_the_version_of_here() -> None:
    found = lacking(b"").decode().splitlines()
    assert {"click", "docker", "jinja2", "pytest", "pyyaml", "rich", "urllib3"} <= names(b"")
    assert [line.partition("==")[0] for line in found] == sorted(names(b""))
    assert all(line.count("==") == 1 and line.partition("==")[2] for line in found)


def test_what_the_stack_names_keeps_the_version_of_the_stack() -> None:
    assert names(b"") - names(b"click==7.0\n# rich is not named here\nPyYAML>=5\nurllib3\n") == {
        "click",
        "pyyaml",
        "urllib3",
    }


def test_a_request_for_tests_of_ours_is_no_part_of_it() -> None:
    assert "mypy" not in names(b"")
    assert "stackproof" not in names(b"")
