"""Answers questions of people who travel, with a model, a weather tool and the guide's own notes."""

from .agent import ask, stream
from .notes import best_note

__all__ = ["ask", "best_note", "stream"]
