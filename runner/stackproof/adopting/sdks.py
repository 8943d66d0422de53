"""Which SDK calls whom, and how that provider is named, found and signed in to. Data; the setups are the catalog's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownProvider:
    """A provider. setup: the built-in setup that has it, None where init writes one.

    provider: its name there. variable: what its SDK, or its setup, has for its URL. url, key: where it is, and the
    variable of its key, for one that no setup has.
    """

    provider: str
    setup: str | None = None
    variable: str = ""
    url: str = ""
    key: str | None = None


PROVIDERS = {
    "openai": KnownProvider(provider="openai", setup="gpt"),
    "azure": KnownProvider(provider="azure", setup="azure"),
    "anthropic": KnownProvider(provider="anthropic", setup="anthropic"),
    "gemini": KnownProvider(provider="gemini", setup="gemini"),
    "vertexai": KnownProvider(provider="vertexai", setup="vertexai"),
    "groq": KnownProvider(provider="groq", setup="groq"),
    "together": KnownProvider(provider="together", setup="together"),
    "fireworks": KnownProvider(provider="fireworks", setup="fireworks"),
    "cerebras": KnownProvider(provider="cerebras", setup="cerebras"),
    "bedrock": KnownProvider(provider="bedrock", setup="bedrock"),
    "watsonx": KnownProvider(provider="watsonx", setup="watsonx"),
    "databricks": KnownProvider(provider="databricks", setup="databricks"),
    "llama-api": KnownProvider(provider="llama-api", setup="llama-api"),
    "ollama": KnownProvider(provider="ollama", setup="ollama"),
    "tavily": KnownProvider(provider="tavily", setup="tavily"),
    "mistral": KnownProvider(
        provider="mistral", variable="MISTRAL_URL", url="https://api.mistral.ai", key="MISTRAL_API_KEY"
    ),
    "cohere": KnownProvider(provider="cohere", variable="CO_API_URL", url="https://api.cohere.com", key="CO_API_KEY"),
    "deepseek": KnownProvider(
        provider="deepseek", variable="DEEPSEEK_URL", url="https://api.deepseek.com", key="DEEPSEEK_API_KEY"
    ),
    "openrouter": KnownProvider(
        provider="openrouter", variable="OPENROUTER_URL", url="https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"
    ),
    "xai": KnownProvider(provider="xai", variable="XAI_URL", url="https://api.x.ai/v1", key="XAI_API_KEY"),
}

# Modules that are a provider's SDK, longest name first where one is below another.
MODULES = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google.genai": "gemini",
    "google.generativeai": "gemini",
    "vertexai": "vertexai",
    "groq": "groq",
    "together": "together",
    "fireworks": "fireworks",
    "cerebras": "cerebras",
    "ollama": "ollama",
    "tavily": "tavily",
    "mistralai": "mistral",
    "cohere": "cohere",
    "ibm_watsonx_ai": "watsonx",
    "llama_api_client": "llama-api",
    "langchain_openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_google_genai": "gemini",
    "langchain_google_vertexai": "vertexai",
    "langchain_groq": "groq",
    "langchain_together": "together",
    "langchain_fireworks": "fireworks",
    "langchain_cerebras": "cerebras",
    "langchain_ollama": "ollama",
    "langchain_mistralai": "mistral",
    "langchain_cohere": "cohere",
    "langchain_deepseek": "deepseek",
    "langchain_xai": "xai",
    "langchain_aws": "bedrock",
    "langchain_ibm": "watsonx",
    "langchain_tavily": "tavily",
    "llama_index.llms.openai": "openai",
    "llama_index.llms.anthropic": "anthropic",
    "llama_index.llms.ollama": "ollama",
    "llama_index.embeddings.openai": "openai",
    "agents": "openai",
}

# The same for packages of Node.js. What they read of the environment is known of the first two alone.
NODE = {
    "openai": "openai",
    "@anthropic-ai/sdk": "anthropic",
    "@google/genai": "gemini",
    "groq-sdk": "groq",
    "together-ai": "together",
    "ollama": "ollama",
    "@mistralai/mistralai": "mistral",
    "cohere-ai": "cohere",
    "@langchain/openai": "openai",
    "@langchain/anthropic": "anthropic",
    "@ai-sdk/openai": "openai",
    "@ai-sdk/anthropic": "anthropic",
    "@tavily/core": "tavily",
}

# SDKs that call whom a model's name says: `anthropic/claude-…`, `openai:gpt-…`.
BY_MODEL = frozenset({"litellm", "pydantic_ai", "aisuite", "dspy", "langchain.chat_models"})
PREFIXES = {
    "openai": "openai",
    "azure": "azure",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "google": "gemini",
    "google-gla": "gemini",
    "vertex_ai": "vertexai",
    "groq": "groq",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "cerebras": "cerebras",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "mistral": "mistral",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "openrouter": "openrouter",
    "xai": "xai",
    "bedrock": "bedrock",
    "watsonx": "watsonx",
    "databricks": "databricks",
}

# Classes of a provider's SDK that call somebody else.
CLASSES = {
    "openai.AzureOpenAI": "azure",
    "openai.AsyncAzureOpenAI": "azure",
    "langchain_openai.AzureChatOpenAI": "azure",
    "langchain_openai.AzureOpenAIEmbeddings": "azure",
    "anthropic.AnthropicBedrock": "bedrock",
    "anthropic.AsyncAnthropicBedrock": "bedrock",
    "anthropic.AnthropicVertex": "vertexai",
    "anthropic.AsyncAnthropicVertex": "vertexai",
}

# What a base URL that stands in the code is.
HOSTS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "api.groq.com": "groq",
    "api.together.xyz": "together",
    "api.fireworks.ai": "fireworks",
    "api.cerebras.ai": "cerebras",
    "api.mistral.ai": "mistral",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "openrouter.ai": "openrouter",
    "api.x.ai": "xai",
    "api.llama.com": "llama-api",
    "localhost:11434": "ollama",
    "127.0.0.1:11434": "ollama",
}

# Keyword arguments by which clients are told where to call, with what, and for which model.
URLS = (
    "base_url",
    "api_base",
    "openai_api_base",
    "azure_endpoint",
    "endpoint",
    "host",
    "anthropic_api_url",
    "server_url",
)
KEYS = ("api_key", "openai_api_key", "anthropic_api_key", "google_api_key", "groq_api_key", "token")
MODELS = ("model", "model_name", "model_id")

# The last words of a call that asks a model.
ASKS = (
    "chat.completions.create", "chat.completions.parse", "chat.completions.stream", "completions.create",
    "responses.create", "responses.parse", "responses.stream", "messages.create", "messages.stream",
    "embeddings.create", "models.generate_content", "models.generate_content_stream", "models.embed_content",
    "generate_content", "chat.complete", "chat.complete_async", "chat.stream", "interactions.create",
    "litellm.completion", "litellm.acompletion", "litellm.embedding", "ollama.chat", "ollama.generate",
    "invoke", "ainvoke", "astream", "run_sync", "Runner.run", "Runner.run_sync",
)  # fmt: skip
