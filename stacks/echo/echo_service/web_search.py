"""Tavily's `POST /search` (https://docs.tavily.com/documentation/api-reference/endpoint/search): made-up pages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import fields


async def search(request: Request) -> Response:
    """As many pages as are asked for, at most three; they repeat the query."""
    if not request.headers.get("authorization", "").startswith("Bearer "):
        return JSONResponse({"detail": {"error": "Unauthorized: missing or invalid API key."}}, status_code=401)
    body = await fields(request)
    query = body.get("query")
    if not isinstance(query, str) or not query.strip():
        return JSONResponse({"detail": {"error": "Query is missing."}}, status_code=400)
    if len(query) > 400:
        text = "Query is too long. Max query length is 400 characters."
        return JSONResponse({"detail": {"error": text}}, status_code=400)
    host = (body.get("include_domains") or ["hand-made.example"])[0]
    results = [
        {
            "url": f"https://{host}/page-{number}",
            "title": f"Page {number}",
            "content": f"Hand-made page {number} about: {query}",
            "score": round(1 - number / 10, 1),
            "raw_content": None,
        }
        for number in range(1, min(body.get("max_results") or 5, 3) + 1)
    ]
    answer = {"query": query, "follow_up_questions": None, "answer": None, "images": [], "results": results}
    return JSONResponse({**answer, "response_time": 0.1, "request_id": "hand-made"})


ROUTES = (Route("/v1/search", search, methods=["POST"]),)
