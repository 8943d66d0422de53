"""A call of each kind through a provider's own SDK.

An SDK reads its own variables where the setup has them under that name; what it has under another name is handed over,
as a stack would. Each call imports its SDK when it is made, and the test skips where that is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

Variables = Mapping[str, str]
_ASK: Any = [{"role": "user", "content": "Hi"}]
_PICTURE = "data:image/png;base64,iVBORw0KGgo="


def installed(module: str, package: str | None = None) -> Any:
    """The module; the test skips where it is absent."""
    return pytest.importorskip(module, reason=f"{package or module} is not installed")


def _model(variables: Variables, role: str = "TEXT") -> str:
    return variables[f"STACKPROOF_{role}_MODEL"].partition("/")[2]


def _origin(url: str) -> str:
    return "/".join(url.split("/")[:3])


def plain(value: Any) -> Any:
    """An object of an SDK as plain data, without what belongs to the connection."""
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != "ResponseMetadata"}
    if type(value).__module__.startswith("google"):
        return value.model_dump(exclude={"sdk_http_response"})
    return value.model_dump() if hasattr(value, "model_dump") else value


def chat(url: str | None = None, key: str | None = None, role: str = "TEXT") -> Callable[[Variables], Any]:
    """OpenAI's SDK; without names of variables it reads its own."""

    def make(variables: Variables) -> Any:
        told = {} if url is None else {"base_url": variables[url]}
        told |= {} if url is None else {"api_key": "no-key" if key is None else variables[key]}
        with installed("openai").OpenAI(**told, max_retries=0) as client:
            return client.chat.completions.create(model=_model(variables, role), messages=_ASK)

    return make


def openai_vision(variables: Variables) -> Any:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": _PICTURE}}]
    with installed("openai").OpenAI(base_url=variables["OLLAMA_URL"], api_key="no-key", max_retries=0) as client:
        asked: Any = [{"role": "user", "content": parts}]
        return client.chat.completions.create(model=_model(variables, "VISION"), messages=asked)


def openai_embeddings(variables: Variables) -> Any:
    with installed("openai").OpenAI(base_url=variables["OLLAMA_URL"], api_key="no-key", max_retries=0) as client:
        model = _model(variables, "EMBEDDING")
        return client.embeddings.create(model=model, input="Hi", encoding_format="float")


def openai_responses(variables: Variables) -> Any:
    with installed("openai").OpenAI(max_retries=0) as client:
        return client.responses.create(model=_model(variables), input="Hi", reasoning={"effort": "low"})


def databricks(variables: Variables) -> Any:
    url = f"{variables['DATABRICKS_HOST']}/serving-endpoints"
    with installed("openai").OpenAI(base_url=url, api_key=variables["DATABRICKS_TOKEN"], max_retries=0) as client:
        return client.chat.completions.create(model=_model(variables), messages=_ASK)


def azure(variables: Variables) -> Any:
    with installed("openai").AzureOpenAI(
        azure_endpoint=_origin(variables["AZURE_API_BASE"]),
        api_key=variables["AZURE_API_KEY"],
        api_version=variables["AZURE_API_VERSION"],
        max_retries=0,
    ) as client:
        return client.chat.completions.create(model=_model(variables), messages=_ASK)


def bedrock_openai_signed(variables: Variables) -> Any:
    installed("botocore")
    with installed("openai").BedrockOpenAI(
        base_url=variables["BEDROCK_BASE_URL"],
        aws_region=variables["AWS_DEFAULT_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        max_retries=0,
    ) as client:
        return client.chat.completions.create(model=_model(variables), messages=_ASK)


def converse(*, signed: bool) -> Callable[[Variables], Any]:
    def make(variables: Variables) -> Any:
        more = {"signature_version": "v4"} if signed else {}
        # A session of its own: the default one keeps the credentials of whichever test came first.
        client = (
            installed("boto3")
            .session.Session()
            .client(
                "bedrock-runtime",
                endpoint_url=_origin(variables["BEDROCK_BASE_URL"]),
                config=installed("botocore.config", "boto3").Config(retries={"total_max_attempts": 1}, **more),
            )
        )
        asked = [{"role": "user", "content": [{"text": "Hi"}]}]
        try:
            return client.converse(modelId=_model(variables), messages=asked)
        finally:
            client.close()

    return make


def messages(variables: Variables) -> Any:
    with installed("anthropic").Anthropic(max_retries=0) as client:
        return client.messages.create(model=_model(variables), max_tokens=9, messages=_ASK)


def anthropic_of_llama_cpp(variables: Variables) -> Any:
    url = variables["LLAMA_CPP_URL"].removesuffix("/v1")
    with installed("anthropic").Anthropic(base_url=url, api_key="no-key", max_retries=0) as client:
        return client.messages.create(model=_model(variables), max_tokens=9, messages=_ASK)


def ollama_chat(**more: Any) -> Callable[[Variables], Any]:
    def make(variables: Variables) -> Any:
        with installed("ollama").Client(host=_origin(variables["OLLAMA_URL"])) as client:
            return client.chat(model=_model(variables), messages=_ASK, **more)

    return make


def generate_content(variables: Variables) -> Any:
    genai = installed("google.genai", "google-genai")
    options = genai.types.HttpOptions(base_url=_origin(variables["GEMINI_BASE_URL"]), api_version="v1beta")
    with genai.Client(api_key=variables["GEMINI_API_KEY"], http_options=options) as client:
        return client.models.generate_content(model=_model(variables), contents="Hi")


def vertexai(variables: Variables) -> Any:
    genai = installed("google.genai", "google-genai")
    with genai.Client(
        vertexai=True,
        project=variables["VERTEX_AI_PROJECT"],
        location=variables["VERTEX_AI_LOCATION"],
        http_options=genai.types.HttpOptions(base_url=variables["VERTEX_AI_URL"]),
    ) as client:
        return client.models.generate_content(model=_model(variables), contents="Hi")


def watsonx(variables: Variables) -> Any:
    """IBM's REST API as its reference has it: a key is exchanged for a token, the token goes with the call."""
    base = variables["WATSONX_BASE_URL"]
    # At IBM's public cloud tokens come from iam.cloud.ibm.com, in its private clouds from the same host.
    minting = f"{base}/identity/token" if "127.0.0.1" in base else "https://iam.cloud.ibm.com/identity/token"
    grant = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": variables["WATSONX_API_KEY"]}
    with installed("httpx").Client(timeout=60) as client:
        token = client.post(minting, data=grant).raise_for_status().json()["access_token"]
        answer = client.post(
            f"{base}/ml/v1/text/chat",
            params={"version": "2024-10-08"},
            headers={"authorization": f"Bearer {token}"},
            json={"model_id": _model(variables), "project_id": variables["WATSONX_PROJECT_ID"], "messages": _ASK},
        )
        return answer.raise_for_status().json()


def rerank(variables: Variables) -> Any:
    """vLLM has re-ranking in Cohere's form, for Cohere's SDK."""
    client = installed("cohere").ClientV2(api_key=variables["VLLM_API_TOKEN"], base_url=_origin(variables["VLLM_URL"]))
    return client.rerank(model=_model(variables, "RERANK"), query="Hi", documents=["a", "b"])


def tavily_search(variables: Variables) -> Any:
    module = installed("tavily", "tavily-python")
    client = module.TavilyClient(api_key=variables["TAVILY_API_KEY"], api_base_url=variables["TAVILY_URL"])
    return client.search("Hi")


def hugging_face(variables: Variables) -> Any:
    with installed("huggingface_hub").InferenceClient(base_url=variables["TGI_URL"], token="no-key") as client:
        return client.chat_completion(_ASK, model=_model(variables))


def stainless(module: str, name: str, url: str, key: str, below: str, **more: Any) -> Callable[[Variables], Any]:
    """An SDK made like OpenAI's. `below`: what it appends itself to the address that it is given."""

    def make(variables: Variables) -> Any:
        base = variables[url].removesuffix(below)
        with getattr(installed(module), name)(base_url=base, api_key=variables[key], max_retries=0, **more) as client:
            return client.chat.completions.create(model=_model(variables), messages=_ASK)

    return make


def llama_api(variables: Variables) -> Any:
    base = f"{_origin(variables['LLAMA_API_URL'])}/v1"
    llama = installed("llama_api_client", "llama-api-client")
    with llama.LlamaAPIClient(base_url=base, api_key=variables["LLAMA_API_KEY"], max_retries=0) as client:
        return client.chat.completions.create(model=_model(variables), messages=_ASK)
