"""A first test that makes the software call its model, as well as anybody can tell from outside how that is done."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackproof.adopting import examples
from stackproof.adopting.found import Found, Framework, Route
from stackproof.adopting.rendering import render
from stackproof.adopting.starting import Start
from stackproof.adopting.wishes import Wishes

_OPENAI = ("openai", "langchain_openai", "litellm", "agents")


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstTest:
    """file: its name. asks: what it calls, in words. calls: it makes the software call a model. http: it needs httpx2.

    notes: what is left to whoever reads it.
    """

    file: str
    text: str
    asks: str
    calls: bool
    http: bool
    notes: tuple[str, ...] = ()


def make(found: Found, wishes: Wishes, start: Start) -> FirstTest:
    """The likeliest one that can be written whole; a frame of one with a note where none can."""
    if start.readiness is not None:
        return _of_route(found, wishes, start)
    if found.functions:
        return _of_function(found, wishes)
    if found.clients:
        return _of_sdk(found, wishes)
    return FirstTest(
        file=_file(found, wishes, "first_call"),
        text=render("test_nothing.py", name=wishes.name),
        asks="nothing yet",
        calls=False,
        http=False,
        notes=("nothing was found that calls a model: the first test is a frame for one",),
    )


def root_of(found: Found) -> str:
    """The folder that a library is imported from."""
    if found.functions:
        return found.functions[0].root
    return next((client.path.partition("/")[0] for client in found.clients if client.path.startswith("src/")), ".")


def _of_route(found: Found, wishes: Wishes, start: Start) -> FirstTest:
    assert start.readiness is not None  # noqa: S101 - asked for where there is one
    route = next((each for each in found.routes if each.asks and each.complete), None)
    notes: list[str] = []
    status = 200
    if route is None:
        asking = next((each for each in found.routes if each.asks), None)
        if asking is not None:
            notes.append(
                f"{asking.method} {asking.path} calls a model, and what it has to be sent could not be told: "
                "write that request into the test"
            )
        elif found.framework is not Framework.NODE:
            notes.append("no route that calls a model was found: the first test only asks whether the server is up")
        else:
            notes.append("routes of Node.js are not read: write a request that calls a model into the test")
        route = Route(method="GET", path=start.readiness.path, function="it_is_up")
        status = start.readiness.status
    body = route.body
    if isinstance(body, dict) and body.get("model") == examples.TEXT:
        model = next((client.model for client in found.clients if client.model), None)
        body = {**body, "model": model or "gpt-4o-mini"}
    return FirstTest(
        file=_file(found, wishes, route.function),
        text=render(
            "test_route.py",
            name=wishes.name,
            function=route.function,
            client="http_client",
            method=route.method.lower(),
            path=route.path,
            body=body,
            status=status,
        ),
        asks=f"{route.method} {route.path}",
        calls=route.asks,
        http=True,
        notes=tuple(notes),
    )


def _of_function(found: Found, wishes: Wishes) -> FirstTest:
    function = found.functions[0]
    return FirstTest(
        file=_file(found, wishes, function.name),
        text=render(
            "test_function.py",
            name=wishes.name,
            module=function.module,
            function=function.name,
            coroutine=function.coroutine,
            argument=f'"{examples.TEXT}"' if function.text else "",
        ),
        asks=f"{function.module}.{function.name}",
        calls=True,
        http=False,
    )


def _of_sdk(found: Found, wishes: Wishes) -> FirstTest:
    client = found.clients[0]
    openai = client.provider == "openai" and client.sdk in _OPENAI
    anthropic = client.provider == "anthropic"
    note = f"no function that calls a model could be called from outside: the first test calls {client.provider} itself"
    if openai or anthropic:
        name = "openai.OpenAI" if openai else "anthropic.Anthropic"
        call = "chat.completions.create" if openai else "messages.create"
        lines = [
            f"client = {name}()",
            f"answer = client.{call}(",
            f'    model="{client.model or ("gpt-4o-mini" if openai else "claude-3-5-haiku-20241022")}",',
            f'    messages=[{{"role": "user", "content": "{examples.TEXT}"}}],',
            "    max_tokens=32,",
            ")",
            "assert answer.choices[0].message.content" if openai else "assert answer.content",
        ]
        text = render(
            "test_sdk.py", name=wishes.name, imports=f"import {name.partition('.')[0]}", fixture="", lines=lines
        )
        return FirstTest(
            file=_file(found, wishes, "first_call"), text=text, asks=call, calls=True, http=False, notes=(note,)
        )
    return FirstTest(
        file=_file(found, wishes, "first_call"),
        text=render("test_nothing.py", name=wishes.name),
        asks="nothing yet",
        calls=False,
        http=False,
        notes=(f"no function that calls {client.provider} could be called from outside: the first test is a frame",),
    )


def _file(found: Found, wishes: Wishes, word: str) -> str:
    """A name that pytest looks for, and that no other file has: two of one name can stop a collection."""
    stem = re.sub(r"\W+", "_", word).strip("_").lower() or "first_call"
    taken = {path.rpartition("/")[2] for path in found.taken if not path.startswith(f"{wishes.tests}/")}
    pattern = next((each for each in found.file_pattern if "*" in each and each.endswith(".py")), "test_*.py")
    pattern = "test_*.py" if "test_*.py" in found.file_pattern else pattern
    for name in (stem, f"{re.sub(r'[^a-z0-9]+', '_', wishes.name.lower())}_{stem}", f"stackproof_{stem}"):
        if (file := pattern.replace("*", name)) not in taken:
            return file
    return pattern.replace("*", f"stackproof_first_{stem}")
