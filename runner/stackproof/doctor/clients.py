"""Names of packages that matter: HTTP libraries, clients of providers, and clients that the recorder cannot see."""

from __future__ import annotations

from dataclasses import dataclass

HTTP = ("httpx", "httpx2", "aiohttp", "urllib3", "requests")
"""What calls are recorded through; requests sits upon urllib3."""

SDKS = (
    "openai", "anthropic", "google-genai", "ollama", "mistralai", "cohere", "groq", "tavily-python", "boto3", "litellm",
    "langchain", "langchain-core", "langchain-openai", "langchain-anthropic", "llama-index-core", "huggingface-hub",
    "together", "fireworks-ai", "cerebras-cloud-sdk", "voyageai", "ibm-watsonx-ai", "databricks-sdk", "pydantic-ai",
    "ogx", "ogx-client", "llama-stack-client", "llama-api-client",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Unseen:
    """A client whose calls no recording can be made of. modules: what is imported. way: how it calls. instead: what to
    do. distributions: normalised names of packages that have it; none for the standard library. sign: what is in a
    file that calls with it, where a module has more than that.
    """

    name: str
    modules: tuple[str, ...]
    distributions: tuple[str, ...]
    way: str
    instead: str
    sign: str | None = None


_REST = "have the client use REST, where it can"
_PYTHON = "call through httpx, aiohttp or requests"
_OUT = "keep it out of the suites' tests: nothing stands in for it in a replay"

UNSEEN = (
    Unseen(
        name="google-generativeai",
        modules=("google.generativeai",),
        distributions=("google-generativeai",),
        way="gRPC",
        instead='`genai.configure(transport="rest")`, or google-genai, its successor',
    ),
    Unseen(
        name="vertexai",
        modules=("vertexai", "google.cloud.aiplatform"),
        distributions=("google-cloud-aiplatform",),
        way="gRPC",
        instead='`aiplatform.init(api_transport="rest")`, or google-genai',
    ),
    Unseen(
        name="Google Cloud clients",
        modules=("google.cloud",),
        distributions=(),
        way="gRPC, most of them",
        instead='`transport="rest"`, where the client has it',
    ),
    Unseen(name="grpc", modules=("grpc", "grpclib"), distributions=("grpcio", "grpclib"), way="gRPC", instead=_REST),
    Unseen(
        name="tritonclient",
        modules=("tritonclient",),
        distributions=("tritonclient",),
        way="gRPC, or geventhttpclient",
        instead=_PYTHON,
    ),
    Unseen(name="pymilvus", modules=("pymilvus",), distributions=("pymilvus",), way="gRPC", instead=_OUT),
    Unseen(
        name="urllib.request",
        modules=("urllib.request",),
        distributions=(),
        way="the standard library",
        instead=_PYTHON,
        sign=r"\b(?:urlopen|urlretrieve|build_opener|Request)\(",
    ),
    Unseen(
        name="http.client",
        modules=("http.client",),
        distributions=(),
        way="the standard library",
        instead=_PYTHON,
        sign=r"\bHTTPS?Connection\(",
    ),
    Unseen(
        name="httplib2",
        modules=("httplib2",),
        distributions=("httplib2",),
        way="the standard library's http.client",
        instead=_PYTHON,
    ),
    Unseen(name="pycurl", modules=("pycurl",), distributions=("pycurl",), way="libcurl", instead=_PYTHON),
    Unseen(name="curl_cffi", modules=("curl_cffi",), distributions=("curl-cffi",), way="libcurl", instead=_PYTHON),
    Unseen(name="primp", modules=("primp",), distributions=("primp",), way="a client in Rust", instead=_PYTHON),
    Unseen(
        name="duckduckgo_search",
        modules=("duckduckgo_search", "ddgs"),
        distributions=("duckduckgo-search", "ddgs"),
        way="primp, a client in Rust",
        instead=_OUT,
    ),
    Unseen(name="rnet", modules=("rnet",), distributions=("rnet",), way="a client in Rust", instead=_PYTHON),
    Unseen(
        name="pyreqwest", modules=("pyreqwest",), distributions=("pyreqwest",), way="a client in Rust", instead=_PYTHON
    ),
    Unseen(
        name="tls_client", modules=("tls_client",), distributions=("tls-client",), way="a client in Go", instead=_PYTHON
    ),
    Unseen(
        name="hf_xet", modules=("hf_xet",), distributions=(), way="a client in Rust", instead="`HF_HUB_DISABLE_XET=1`"
    ),
    Unseen(
        name="awscrt",
        modules=("awscrt", "aws_sdk_bedrock_runtime", "smithy_http"),
        distributions=("awscrt", "aws-sdk-bedrock-runtime"),
        way="a client in C",
        instead="boto3's bedrock-runtime",
    ),
    Unseen(
        name="niquests", modules=("niquests",), distributions=("niquests",), way="urllib3-future", instead="requests"
    ),
    Unseen(
        name="geventhttpclient",
        modules=("geventhttpclient",),
        distributions=("geventhttpclient",),
        way="sockets of its own",
        instead=_PYTHON,
    ),
    Unseen(
        name="tornado's client",
        modules=("tornado.httpclient",),
        distributions=(),
        way="sockets of its own",
        instead=_PYTHON,
    ),
    Unseen(
        name="treq", modules=("treq", "twisted.web.client"), distributions=("treq",), way="Twisted", instead=_PYTHON
    ),
    Unseen(name="websockets", modules=("websockets",), distributions=(), way="WebSockets", instead=_OUT),
    Unseen(name="websocket-client", modules=("websocket",), distributions=(), way="WebSockets", instead=_OUT),
    Unseen(name="httpx-ws", modules=("httpx_ws",), distributions=("httpx-ws",), way="WebSockets", instead=_OUT),
    Unseen(
        name="deepgram",
        modules=("deepgram",),
        distributions=("deepgram-sdk",),
        way="WebSockets for live speech",
        instead=_OUT,
    ),
)

REALTIME = (
    (".realtime.connect(", "OpenAI's realtime"),
    (".aio.live.connect(", "Gemini's live"),
    (".ws_connect(", "aiohttp's ws_connect"),
)
"""Calls that open a WebSocket through a client whose other calls are recorded."""
