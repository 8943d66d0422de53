"""What is refused, by the stack or by the provider, plain and streamed alike."""

from __future__ import annotations

from collections.abc import Callable

import openai
import pytest
from openai import OpenAI
from openai.types.responses import FunctionToolParam
from openai.types.responses.tool_param import Mcp

Hosted = Callable[[str], Mcp]
QUESTION = "What is the weather in Paris?"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_an_unknown_model_is_refused_before_anything_is_streamed(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam, stream: bool
) -> None:
    provider = tool_model.partition("/")[0]
    with pytest.raises((openai.NotFoundError, openai.BadRequestError), match="no-such-model"):
        openai_client.responses.create(
            model=f"{provider}/no-such-model", input=QUESTION, tools=[weather], stream=stream, temperature=0
        )


def test_a_hosted_server_that_there_is_not_is_refused(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    with pytest.raises(openai.BadRequestError, match=r"'nothing'.*weather"):
        openai_client.responses.create(model=tool_model, input=QUESTION, tools=[hosted("nothing")])


def test_a_hosted_tool_that_there_is_not_is_refused(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    tool: Mcp = {**hosted("weather"), "allowed_tools": ["get_weather", "make_weather"]}
    with pytest.raises(openai.BadRequestError, match="make_weather"):
        openai_client.responses.create(model=tool_model, input=QUESTION, tools=[tool])


def test_a_stack_that_asks_nobody_says_so(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    tool: Mcp = {**hosted("weather"), "require_approval": "always"}
    with pytest.raises(openai.BadRequestError, match="require_approval"):
        openai_client.responses.create(model=tool_model, input=QUESTION, tools=[tool])


def test_two_tools_of_one_name_are_refused(
    openai_client: OpenAI, tool_model: str, hosted: Hosted, weather: FunctionToolParam
) -> None:
    with pytest.raises(openai.BadRequestError, match="get_weather"):
        openai_client.responses.create(model=tool_model, input=QUESTION, tools=[hosted("weather"), weather])
    with pytest.raises(openai.BadRequestError, match="get_weather"):
        openai_client.responses.create(model=tool_model, input=QUESTION, tools=[hosted("weather"), hosted("station")])


def test_going_on_from_a_response_that_there_is_not_is_refused(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    with pytest.raises((openai.BadRequestError, openai.NotFoundError)) as caught:
        openai_client.responses.create(
            model=tool_model, input=QUESTION, tools=[weather], previous_response_id="resp_nothing"
        )
    assert "resp_nothing" in caught.value.response.text
