"""What ssh complains of, in one sentence and with what to do."""

from __future__ import annotations

import pytest

from stackproof.stack import ssh_words

RAW = "failed to open the raw stream connection: dial unix /var/run/docker.sock: connect: "


@pytest.mark.parametrize(
    ("said", "code", "text", "remedy"),
    [
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            255,
            "not the one",
            "why",
        ),
        ("Host key verification failed.\r\n", 255, "ssh does not know its host key", "`ssh me@there` once"),
        (
            "Welcome\nme@there: Permission denied (publickey).\nbye",
            255,
            "refused: me@there: Permission denied",
            "agent",
        ),
        (f"{RAW}permission denied\n", 1, "its user may not use the engine there", "usermod -aG docker"),
        (f"{RAW}no such file or directory\n", 1, f"no engine: {RAW}no such file or directory", "start the engine"),
        ("sh: 1: docker: not found\n", 127, "there is no command `docker`", "`ssh me@there docker version`"),
        ("ssh: Could not resolve hostname there: Name or service not known", 255, "its host name is not known", "Host"),
        ("Connection timed out during banner exchange\nConnection to there timed out", 255, "no answer in time", "off"),
        ("ssh: connect to host there port 22: Connection refused", 255, "no sshd listens there", "right port"),
        ("a\nConnection closed by there port 22\n", 255, "ssh ended: Connection closed by there port 22", "same"),
        ("", -9, "ssh ended: exit code -9", "same"),
    ],
)
def test_each_complaint_has_its_words(said: str, code: int, text: str, remedy: str) -> None:
    found, what_next = ssh_words.told(said, code, "me@there")
    assert text in found
    assert remedy in what_next
    assert "\n" not in found
