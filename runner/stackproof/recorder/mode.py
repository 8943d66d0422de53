"""What the recorder does with a provider call."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """`--inference-mode`.

    live: nothing is installed. record: every call goes out and is written. replay: every call is answered from a
    file. record-if-missing: answered from a file where there is one, else recorded. verify: every call goes out, and
    what would have been recorded is written to the run's folder, for a comparison; recordings stay as they are.
    """

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"
    RECORD_IF_MISSING = "record-if-missing"
    VERIFY = "verify"

    @classmethod
    def parse(cls, text: str) -> Mode:
        """Read a mode; ValueError lists the modes when `text` is none of them."""
        try:
            return cls(text)
        except ValueError:
            known = ", ".join(mode.value for mode in cls)
            raise ValueError(f"inference mode {text!r} is not one of: {known}") from None

    @property
    def records(self) -> bool:
        """Whether recordings may be written, moved or removed in this mode."""
        return self in (Mode.RECORD, Mode.RECORD_IF_MISSING)

    @property
    def answers(self) -> bool:
        """Whether a recording may answer a call."""
        return self in (Mode.REPLAY, Mode.RECORD_IF_MISSING)

    @property
    def calls_out(self) -> bool:
        """Whether a call may go out through the recorder, which sees its answer."""
        return self in (Mode.RECORD, Mode.RECORD_IF_MISSING, Mode.VERIFY)
