"""`combines` in setups.yaml: software that calls two providers takes the setups of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.records import ModelRole, SetupSpec
from stackproof.errors import UsageError


def load(project: Path, text: str) -> dict[str, SetupSpec]:
    (project / "stacks").mkdir(exist_ok=True)
    (project / "stacks/setups.yaml").write_text(text, encoding="utf-8")
    return dict(catalog.load(project).setups)


def test_one_line_gives_variables_secrets_and_providers_of_both(tmp_path: Path) -> None:
    both = load(tmp_path, "both: {combines: [gpt, anthropic]}\n")["both"]
    assert both.description == "gpt and anthropic"
    assert both.env == {
        "OPENAI_BASE_URL": "https://api.openai.com/v1",
        "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
    }
    assert both.secrets == ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
    assert [provider.name for provider in both.providers] == ["openai", "anthropic"]
    assert both.source == tmp_path / "stacks/setups.yaml"


def test_first_that_names_a_model_for_a_role_names_it_and_the_setup_itself_comes_before_them(tmp_path: Path) -> None:
    text = 'both: {combines: [anthropic, gpt], models: {tool: "openai/gpt-5"}, env: {OPENAI_BASE_URL: "http://x/v1"}}\n'
    both = load(tmp_path, text)["both"]
    assert both.models[ModelRole.TEXT].startswith("anthropic/")
    assert both.models[ModelRole.TOOL] == "openai/gpt-5"
    assert both.embedding_dimension == 1536
    assert both.env["OPENAI_BASE_URL"] == "http://x/v1"


def test_rules_and_what_only_replay_needs_come_along(tmp_path: Path) -> None:
    both = load(tmp_path, "both: {combines: [vertexai, bedrock]}\n")["both"]
    assert both.rules == ({"name": "bedrock"},)
    credentials = Path(both.replay["GOOGLE_APPLICATION_CREDENTIALS"])
    assert credentials.is_file()


def test_setups_of_the_same_file_can_be_combined_and_those_that_are_combined_themselves(tmp_path: Path) -> None:
    text = (
        "search: {description: d, env: {S_URL: 'https://s'}, providers: {s: {variable: S_URL}}}\n"
        "two: {combines: [gpt, search]}\n"
        "three: {combines: [two, tavily]}\n"
    )
    assert [provider.name for provider in load(tmp_path, text)["three"].providers] == ["openai", "s", "tavily"]


def test_prefix_of_an_own_provider_may_name_a_variable_that_comes_from_another(tmp_path: Path) -> None:
    text = 'more: {combines: [gpt], providers: {files: {prefixes: ["{OPENAI_BASE_URL}/files"]}}}\n'
    assert load(tmp_path, text)["more"].providers[-1].prefixes == ("{OPENAI_BASE_URL}/files",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "both: {combines: [gtp, anthropic]}\n",
            "stacks/setups.yaml:1: setup 'both' combines 'gtp', which is not known, did you mean 'gpt'?",
        ),
        (
            "own:\n  description: d\n  env: {OPENAI_BASE_URL: 'http://x/v1'}\nboth:\n  combines: [gpt, own]\n",
            "stacks/setups.yaml:5: the setups that setup 'both' combines do not agree on variable 'OPENAI_BASE_URL'",
        ),
        (
            "own:\n  description: d\n  providers: {openai: {prefixes: ['http://x']}}\nboth:\n  combines: [gpt, own]\n",
            "stacks/setups.yaml:5: the setups that setup 'both' combines do not agree on provider 'openai'",
        ),
        ("both: {}\n", "stacks/setups.yaml:1: setup 'both' lacks 'description'"),
    ],
)
def test_what_does_not_fit_together_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    assert caught.value.message == message
    assert caught.value.hint or "lacks" in message


def test_what_two_disagree_on_is_settled_by_saying_it(tmp_path: Path) -> None:
    text = (
        "own: {description: d, env: {OPENAI_BASE_URL: 'http://x/v1'}}\n"
        "both: {combines: [gpt, own], env: {OPENAI_BASE_URL: 'http://y/v1'}}\n"
    )
    assert load(tmp_path, text)["both"].env == {"OPENAI_BASE_URL": "http://y/v1"}
