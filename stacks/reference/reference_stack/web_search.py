"""`web_search` as a tool of Responses, done by the gateway through Tavily's client before the model speaks."""

from __future__ import annotations

import json
from typing import Any

import httpx
import tavily
from tavily.errors import ForbiddenError
from tavily.errors import TimeoutError as TavilyTimeoutError

from reference_stack.answers import AnsweredError, Dialect, NoAnswerError, error_body
from reference_stack.ids import Kind, new_id
from reference_stack.late import LateClients
from reference_stack.providers import Search
from reference_stack.searching import Searched, as_tool_call, question_of

KIND = "web_search"

# How many pages `search_context_size` asks for.
_PAGES = {"low": 3, "medium": 5, "high": 10}
# The client tells the status by the class of the exception only.
_STATUS = {
    tavily.BadRequestError: 400,
    tavily.InvalidAPIKeyError: 401,
    ForbiddenError: 403,
    tavily.UsageLimitExceededError: 429,
}


async def search_web(late: LateClients, search: Search, tool: dict[str, Any], items: list[dict[str, Any]]) -> Searched:
    """Search as the tool's definition says. RefusedError, AnsweredError, NoAnswerError."""
    question = question_of(items, KIND)
    client = await late.tavily(search)
    domains = (tool.get("filters") or {}).get("allowed_domains")
    asked = {"include_domains": domains} if domains else {}
    pages = _PAGES.get(tool.get("search_context_size", "medium"), _PAGES["medium"])
    try:
        answer = await client.search(question, max_results=pages, **asked)
    except tuple(_STATUS) as error:
        raise _told(search, _STATUS[type(error)], str(error)) from error
    except httpx.HTTPStatusError as error:
        raise _told(search, error.response.status_code, _message(error.response)) from error
    except (TavilyTimeoutError, httpx.TimeoutException) as error:
        raise NoAnswerError(timed_out=True) from error
    except (httpx.HTTPError, json.JSONDecodeError) as error:
        raise NoAnswerError from error
    found: list[dict[str, Any]] = answer.get("results", [])
    return Searched(
        item={
            "id": new_id(Kind.WEB_SEARCH_CALL),
            "type": "web_search_call",
            "status": "completed",
            "action": {
                "type": "search",
                "query": question,
                "sources": [{"type": "url", "url": page["url"]} for page in found],
            },
        },
        for_the_model=as_tool_call(KIND, question, told(found)),
    )


def told(found: list[dict[str, Any]]) -> str:
    """Pages as the model reads them."""
    lines = [f"web_search found {len(found)} pages."]
    lines += [f"[{at}] {page.get('title')} ({page['url']})\n{page.get('content')}" for at, page in enumerate(found, 1)]
    return "\n".join(lines)


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return response.text
    return str(body.get("message") or body) if isinstance(body, dict) else str(body)


def _told(search: Search, status: int, message: str) -> AnsweredError:
    text = f"The web search {search.name!r} answered: {message}"
    return AnsweredError(status, json.dumps(error_body(Dialect.OPENAI, status, text)).encode())
