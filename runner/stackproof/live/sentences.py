"""What a person is told of a provider before its tests: one sentence, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlsplit

from stackproof.live.meaning import Meaning, Standing
from stackproof.plaintext import counted, plain, shortened
from stackproof.suggest import did_you_mean

_LONGEST = 160  # characters of a provider's own words
_LISTED = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """How things are with a model. Sentence and hint may repeat a key, as providers do: they are shown concealed."""

    standing: Standing
    sentence: str
    hint: str | None = None

    @property
    def fine(self) -> bool:
        """Whether its tests are worth a try."""
        return self.standing in (Standing.OK, Standing.UNCLEAR)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentences:
    """Whom they are about. key, url_variable: names of variables."""

    provider: str
    key: str | None
    url: str
    url_variable: str | None
    setup: str

    def of(self, meant: Meaning, model: str) -> Finding:
        """What an answer means for the model."""
        said = shortened(plain(meant.said), _LONGEST)
        who, key = self.provider, self.key
        hint: str | None = None
        match meant.standing:
            case Standing.OK:
                told = self._taken
            case Standing.UNCLEAR:
                told = f"{self._taken}; whether it has credit shows with the first call ({said})"
            case Standing.UNKNOWN_MODEL:
                return self.unknown(model, (), said)
            case Standing.REJECTED if key is None:
                told = f"{who} asks for a key ({said}), and setup {self.setup!r} has none"
                hint = f"name its variable in the setup: secrets: [{who.upper().replace('-', '_')}_API_KEY]"
            case Standing.REJECTED:
                told = f"{who} rejects {key} ({said})"
                hint = f"put a key into {key} that {who} takes, and that may call {model}"
            case Standing.NO_CREDIT:
                told = f"{who} has no credit left for {key or 'this address'} ({said})"
                hint = "add credit to the account or raise its limit: the key itself is taken"
            case Standing.RATE_LIMITED:
                wait = "" if meant.wait is None else f", and asks to wait {meant.wait:.0f} s"
                told = f"{who} limits the rate of {key or 'calls'}{wait} ({said})"
                hint = "try again later, or with a key that nothing else uses at this hour"
            case Standing.UNREACHABLE:
                told, hint = self._unreachable(meant, said)
            case _:
                assert_never(meant.standing)
        return Finding(standing=meant.standing, sentence=told, hint=hint)

    def fine(self, model: str, *, listed: bool) -> Finding:
        """The provider answers, and has the model as far as it can be known."""
        there = f", model {model} is there" if listed else ""
        return Finding(standing=Standing.OK, sentence=f"{self._taken}{there}")

    def unknown(self, model: str, names: tuple[str, ...], said: str = "") -> Finding:
        """It has no such model; names: those it has, as far as it tells."""
        more = len(names) - _LISTED
        listed = ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
        why = f" ({shortened(plain(said), _LONGEST)})" if said else ""
        if model in names:
            told = f"{self.provider} lists model {model!r}, and does not let {self.key or 'this caller'} call it{why}"
            return Finding(standing=Standing.UNKNOWN_MODEL, sentence=told, hint="it may be for other accounts only")
        return Finding(
            standing=Standing.UNKNOWN_MODEL,
            sentence=f"{self.provider} has no model {model!r}{did_you_mean(model, names)}{why}",
            hint=f"it has {listed}" if names else "its own list of models tells the names",
        )

    def no_key(self, key: str) -> Finding | None:
        """What is wrong with a value that can be no key; None where it may be one."""
        wrong = next(
            (
                what
                for what, found in (
                    ("has a space or a line feed at its beginning or end", key != key.strip()),
                    ("has a space or a line feed in it", key.split() != [key]),
                    ("has quotes around it", key[:1] in "\"'" and key[-1:] in "\"'"),
                    ("has characters that no key has", not key.isascii() or not key.isprintable()),
                )
                if found
            ),
            None,
        )
        if wrong is None:
            return None
        hint = f"set {self.key} to the key alone; it is {counted(len(key), 'character')} long"
        return Finding(standing=Standing.REJECTED, sentence=f"{self.key} {wrong}", hint=hint)

    def failed(self, kind: str) -> Finding:
        """Asking went wrong on our side."""
        return Finding(standing=Standing.UNREACHABLE, sentence=f"{self.provider} could not be asked ({kind})")

    @property
    def _taken(self) -> str:
        return f"{self.provider} answers" if self.key is None else f"{self.provider} key accepted"

    def _unreachable(self, meant: Meaning, said: str) -> tuple[str, str]:
        """Sentence and hint."""
        parts = urlsplit(self.url)
        # A password in a URL is nobody's business.
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.netloc else self.url
        who = f"{self.provider} at {where}"
        named = f"{self.url_variable} says where it is" if self.url_variable else "its setup says where it is"
        if meant.elsewhere is not None:
            told = f"{who} sends on to another address ({said}), where no key is sent"
            return told, f"{named}: give it the final address"
        # A status is an answer, though none of use.
        told = f"{who} answers {said}" if said[:1].isdigit() else f"{who} cannot be reached: {said}"
        return told, "; ".join(filter(None, (named, meant.hint)))
