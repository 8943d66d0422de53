"""Which providers the code calls, through which SDK, and by which variables it is told where and with what key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from stackproof.adopting import sdks
from stackproof.adopting.asking import module_of
from stackproof.adopting.found import Client
from stackproof.adopting.source import Source, Value

_SETTINGS = ("BaseSettings", "pydantic_settings.BaseSettings", "pydantic.BaseSettings")
_HTTP = ("httpx", "httpx2", "requests", "aiohttp", "urllib3")
_MODEL = re.compile(r"([a-z_-]+)[/:](\S+)")


def find(sources: Iterable[Source], own: frozenset[str]) -> tuple[Client, ...]:
    """Every provider once for each way that it is reached; what is made in the code tells more than an import.

    own: names of the project's own modules, which may be called as an SDK is: `agents`, `together`.
    """
    sources = list(sources)
    settings = _settings(sources)
    made = [client for source in sources for client in _made(source, settings) if client.sdk not in own]
    told = {client.provider for client in made}
    used = {(client.path, client.sdk) for client in made}
    for source in sources:
        for name in sorted(source.imports):
            module = module_of(name)
            if (
                module is None
                or module.partition(".")[0] in own
                or (source.path, module.partition(".")[0]) in used
                or _is_helper(source, module)
            ):
                continue
            if sdks.MODULES[module] not in told:
                made.append(Client(provider=sdks.MODULES[module], sdk=module, path=source.path))
                told.add(sdks.MODULES[module])
    return tuple(dict.fromkeys(made)) or tuple(_by_url(sources))


def _by_url(sources: list[Source]) -> Iterator[Client]:
    """Providers whose URL stands in the code of a project that uses no SDK."""
    found: dict[str, Client] = {}
    for source in sources:
        http = next((name for name in _HTTP if name in source.imports), None)
        for node in ast.walk(source.tree) if http is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and (provider := _by_host(node.value)):
                found.setdefault(provider, Client(provider=provider, sdk=str(http), path=source.path))
    yield from found.values()


def of_node(packages: frozenset[str]) -> tuple[Client, ...]:
    """What the packages of a project on Node.js call."""
    found: dict[str, Client] = {}
    for name, provider in sdks.NODE.items():
        if name in packages:
            found.setdefault(provider, Client(provider=provider, sdk=name, path="package.json"))
    return tuple(found.values())


def _is_helper(source: Source, module: str) -> bool:
    """`import openai` beside `AzureOpenAI` brings types and errors; so do files that only import those."""
    words = [name for name in source.names.values() if name.startswith(f"{module}.")]
    return bool(words) and all(word.endswith("Error") or ".types" in word for word in words)


def variables(sources: Iterable[Source]) -> tuple[str, ...]:
    """All variables of the environment that the code reads by name."""
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Subscript | ast.Call) and (name := source.value(node).variable):
                found.add(name)
    return tuple(sorted(found))


def _made(source: Source, settings: dict[str, Value]) -> Iterator[Client]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = source.dotted(node.func)
        words = {word.arg: _value(source, word.value, settings) for word in node.keywords if word.arg}
        model = _first(words, sdks.MODELS)
        if (provider := _provider_of(name)) is not None:
            url, key = _first(words, sdks.URLS), _first(words, sdks.KEYS)
            yield Client(
                provider=_by_host(url.text) or provider,
                sdk=name.partition(".")[0],
                path=source.path,
                url=url.variable,
                key=key.variable,
                literal=url.text,
                model=model.text,
                model_variable=model.variable,
            )
        elif any(name == each or name.startswith(f"{each}.") for each in sdks.BY_MODEL):
            text = model.text or next((value.text for each in node.args if (value := source.value(each)).text), None)
            found = _MODEL.fullmatch(text or "")
            if found and found[1] in sdks.PREFIXES:
                yield Client(
                    provider=sdks.PREFIXES[found[1]], sdk=name.partition(".")[0], path=source.path, model=found[2]
                )
            elif text and name.startswith("litellm.") and re.match(r"(gpt-|o\d|text-embedding|chatgpt)", text):
                yield Client(provider="openai", sdk="litellm", path=source.path, model=text)
            elif text and name.startswith("litellm.") and text.startswith("claude"):
                yield Client(provider="anthropic", sdk="litellm", path=source.path, model=text)
        elif name == "boto3.client" and any(source.value(each).text == "bedrock-runtime" for each in node.args):
            yield Client(provider="bedrock", sdk="boto3", path=source.path)


def _provider_of(name: str) -> str | None:
    """Of a class that is a client; functions and exceptions of an SDK are none."""
    if name in sdks.CLASSES:
        return sdks.CLASSES[name]
    module = module_of(name)
    last = name.rpartition(".")[2]
    if module is None or not last[:1].isupper() or last.endswith(("Error", "Message", "Param", "Config", "Tool")):
        return None
    clients = (
        "Client",
        "Chat",
        "OpenAI",
        "Anthropic",
        "Groq",
        "Together",
        "Mistral",
        "Embeddings",
        "LLM",
        "Fireworks",
        "Cerebras",
    )
    return sdks.MODULES[module] if any(word in last for word in clients) or module.startswith("llama_index") else None


def _by_host(url: str | None) -> str | None:
    parts = urlsplit(url or "")
    return sdks.HOSTS.get(parts.netloc) or sdks.HOSTS.get(parts.hostname or "")


def _first(words: dict[str, Value], names: tuple[str, ...]) -> Value:
    return next((words[name] for name in names if name in words), Value())


def _value(source: Source, node: ast.expr, settings: dict[str, Value]) -> Value:
    """As the file itself tells, or through a field of the project's settings: `settings.llm_url`."""
    found = source.value(node)
    if found != Value():
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_secret_value":
        node = node.func.value
    return settings.get(node.attr, Value()) if isinstance(node, ast.Attribute) else Value()


def _settings(sources: list[Source]) -> dict[str, Value]:
    """Fields of pydantic's settings, and the variables that they are read from."""
    found: dict[str, Value] = {}
    for source in sources:
        for node in source.classes.values():
            if not any(
                source.dotted(base) in _SETTINGS or source.dotted(base).endswith("BaseSettings") for base in node.bases
            ):
                continue
            prefix = re.search(r"env_prefix\s*=\s*['\"](\w*)['\"]", ast.unparse(node))
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    name = f"{prefix[1] if prefix else ''}{statement.target.id}".upper()
                    default = source.value(statement.value).text if statement.value else None
                    found[statement.target.id] = Value(variable=name, text=default)
    return found


def models(sources: Iterable[Source]) -> tuple[Value, ...]:
    """Names of models that calls ask for, as texts of the code or variables with a default; the most frequent first."""
    counted: dict[Value, int] = {}
    sources = list(sources)
    settings = _settings(sources)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and any(
                source.dotted(node.func).endswith(f".{words}") for words in sdks.ASKS
            ):
                words = {word.arg: _value(source, word.value, settings) for word in node.keywords if word.arg}
                value = _first(words, sdks.MODELS)
                if value != Value():
                    counted[value] = counted.get(value, 0) + 1
    return tuple(sorted(counted, key=lambda value: -counted[value]))
