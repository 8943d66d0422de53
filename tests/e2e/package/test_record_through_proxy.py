"""Recorded through a company's proxy, which wants a password and looks into TLS; replayed where there is none."""

from __future__ import annotations

import pytest
from tests.e2e.package.company import PASSWORD, Company
from tests.e2e.package.conftest import AUTHORITIES, Shop

for name in ("aiohttp", "boto3", "httpx", "httpx2", "openai", "uvicorn"):
    pytest.importorskip(name, reason=f"{name} is not installed")

STACK = """\
description: A shop that asks a model
modes: [server]
python_path: ["."]
command: ["{python}", "-m", "uvicorn", "shop_app:app", "--port", "{port}"]
readiness: {path: /health, status: 200, timeout: 60}
"""
APP = """
import json, os
import httpx

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return await send({"type": "lifespan.shutdown.complete"})
    said = {"ok": True}
    if scope["path"] == "/ask":
        async with httpx.AsyncClient(timeout=120) as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "from the stack"}]}
            said = (await client.post(os.environ["MODEL_URL"] + "/chat/completions", json=body)).json()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})
"""
TESTS = """
import asyncio, json, os
import aiohttp, boto3, httpx, httpx2, openai, pytest, requests

URL = os.environ["MODEL_URL"]

def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}

def said(answer):
    return answer["choices"][0]["message"]["content"]

@pytest.mark.parametrize("library", [httpx, httpx2, requests], ids=["httpx", "httpx2", "requests"])
def test_it_is_asked_by(library):
    assert said(library.post(URL + "/chat/completions", json=body(library.__name__), timeout=120).json())

@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_it_is_asked_asynchronously_by(library):
    async def main():
        async with library.AsyncClient() as client:
            return (await client.post(URL + "/chat/completions", json=body("async"), timeout=120)).json()
    assert said(asyncio.run(main())) == "heard async"

def test_it_is_asked_by_aiohttp():
    async def main():
        async with aiohttp.ClientSession(trust_env=True) as session:
            async with session.post(URL + "/chat/completions", json=body("aiohttp")) as answer:
                return await answer.json()
    assert said(asyncio.run(main())) == "heard aiohttp"

def test_it_is_asked_by_botocore():
    client = boto3.client("bedrock-runtime", endpoint_url=URL, region_name="eu-central-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    answer = client.invoke_model(modelId="m", body=json.dumps({"prompt": "hello"}))
    assert json.loads(answer["body"].read())["completion"].endswith("heard hello")

def test_it_is_asked_by_an_sdk():
    client = openai.OpenAI(base_url=URL, api_key="model-k3y-0123456789", max_retries=0)
    assert client.chat.completions.create(**body("sdk")).choices[0].message.content == "heard sdk"

def test_the_stack_asks(http_client):
    assert said(http_client.get("/ask").json()) == "heard from the stack"
"""
COUNT = 9


@pytest.fixture
def asking(shop: Shop) -> Shop:
    shop.write(
        {
            "stacks/shop/stack.yaml": STACK,
            "stacks/shop/shop_app.py": APP,
            "tests/integration/base/test_shop.py": TESTS,
        }
    )
    return shop


def test_every_client_records_through_it_and_replays_without_it(
    asking: Shop, company: Company, behind: dict[str, str]
) -> None:
    recorded = asking.run("run", "--inference-mode", "record", environ=behind)
    assert f"{COUNT} passed" in recorded.stdout
    assert f"provider calls: 0 replayed, {COUNT} recorded" in recorded.stdout
    assert set(company.asked) == {("CONNECT", "api.models.test")}
    assert len(company.asked) >= COUNT
    assert len(list((asking.root / "recordings" / "company").rglob("*.json"))) == COUNT
    # What the proxy wants to know is nobody else's business.
    kept = asking.kept()
    assert "heard sdk" in kept
    for secret in (PASSWORD, "model-k3y"):
        assert secret not in kept + recorded.stdout + recorded.stderr

    company.asked.clear()
    # A proxy that is not there, in the form that clients without a library for socks refuse: replay needs none.
    nowhere = {"ALL_PROXY": "socks5://proxy.models.test:1080", "https_proxy": "http://127.0.0.1:9", "NO_PROXY": ""}
    replayed = asking.run("run", environ=nowhere)
    assert f"provider calls: {COUNT} replayed, 0 recorded, 0 missed, 0 unused" in replayed.stdout
    assert company.asked == []


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_without_tls_the_proxy_is_asked_itself(shop: Shop, company: Company, name: str) -> None:
    given = {"MODEL_KEY": "k", name: company.url}
    recorded = shop.run("run", "--setup", "plain", "--inference-mode", "record", environ=given)
    assert "provider calls: 0 replayed, 1 recorded" in recorded.stdout
    assert company.asked == [("POST", "plain.models.test")]


def test_without_its_authority_the_reason_is_told(shop: Shop, company: Company) -> None:
    for name in AUTHORITIES:
        shop.environ.pop(name, None)
    given = {"MODEL_KEY": "k", "HTTPS_PROXY": company.url}
    done = shop.run("run", "--inference-mode", "record", environ=given, code=1)
    assert "CERTIFICATE_VERIFY_FAILED" in done.stdout
    assert not list(shop.root.glob("recordings/company/**/*.json"))
