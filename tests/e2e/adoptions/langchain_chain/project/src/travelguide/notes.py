"""The guide's notes, found by meaning."""

import os

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings

NOTES = (
    "The metro of Paris runs until one in the morning.",
    "Take warm boots to Oslo from November to March.",
    "In Lisbon, tram 28 is slow and full of people; walk instead.",
)


def shelf() -> InMemoryVectorStore:
    """All notes, with the embeddings of the model that TRAVELGUIDE_EMBEDDING_MODEL names."""
    model = os.environ.get("TRAVELGUIDE_EMBEDDING_MODEL", "text-embedding-3-small")
    # Texts, not tokens: not every server that speaks OpenAI's format takes those.
    store = InMemoryVectorStore(OpenAIEmbeddings(model=model, check_embedding_ctx_length=False))
    store.add_documents([Document(page_content=note) for note in NOTES])
    return store


def best_note(question: str) -> str:
    """The note that is nearest to a question."""
    (found,) = shelf().similarity_search(question, k=1)
    return found.page_content
