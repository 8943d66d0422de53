"""A Django project in one file: `python django_app.py runserver ADDRESS:PORT`."""

# mypy: ignore-errors
# It runs under the server, with packages that need not be here.

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from openai import OpenAI

VERSION = "first"
_WHERE = {"base_url": os.environ["LLM_URL"], "api_key": os.environ["LLM_KEY"]}
if not settings.configured:
    settings.configure(DEBUG=True, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none", USE_TZ=True)


def health(_: HttpRequest) -> HttpResponse:
    return JsonResponse({"pid": os.getpid(), "version": VERSION})


def ask(request: HttpRequest) -> HttpResponse:
    with OpenAI(**_WHERE) as client:
        messages = [{"role": "user", "content": request.GET["say"]}]
        answer = client.chat.completions.create(model="m", messages=messages)
    return JsonResponse({"text": answer.choices[0].message.content, "pid": os.getpid()})


def stream(request: HttpRequest) -> StreamingHttpResponse:
    say = request.GET["say"]

    def events() -> Iterator[str]:
        with OpenAI(**_WHERE) as client:
            messages = [{"role": "user", "content": say}]
            with client.chat.completions.create(model="m", messages=messages, stream=True) as parts:
                for part in parts:
                    yield json.dumps(part.choices[0].delta.content) + "\n"

    return StreamingHttpResponse(events())


urlpatterns = [path(view.__name__, view) for view in (health, ask, stream)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
