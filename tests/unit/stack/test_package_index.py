"""What pip and npm are told of indexes and certificates that the caller has named to others."""

from __future__ import annotations

import pytest

from stackproof.stack import package_index


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ({"UV_DEFAULT_INDEX": "https://a/simple"}, {"PIP_INDEX_URL": "https://a/simple"}),
        ({"UV_INDEX_URL": "https://a/simple"}, {"PIP_INDEX_URL": "https://a/simple"}),
        (
            {"UV_DEFAULT_INDEX": "https://new/simple", "UV_INDEX_URL": "https://old/simple"},
            {"PIP_INDEX_URL": "https://new/simple"},
        ),
        ({"UV_EXTRA_INDEX_URL": "https://a https://b"}, {"PIP_EXTRA_INDEX_URL": "https://a https://b"}),
        ({"UV_INDEX": "mine=https://a/x?y=z https://b"}, {"PIP_EXTRA_INDEX_URL": "https://a/x?y=z https://b"}),
        (
            {"UV_INDEX": "my-own=https://a/", "UV_INDEX_MY_OWN_USERNAME": "me", "UV_INDEX_MY_OWN_PASSWORD": "p@ss"},
            {"PIP_EXTRA_INDEX_URL": "https://me:p%40ss@a/"},
        ),
        ({"UV_DEFAULT_INDEX": "https://a", "PIP_INDEX_URL": "https://own"}, {"PIP_INDEX_URL": "https://own"}),
        ({"UV_FIND_LINKS": "/wheels,/more"}, {"PIP_FIND_LINKS": "/wheels /more"}),
        ({"UV_INSECURE_HOST": "a:8080"}, {"PIP_TRUSTED_HOST": "a:8080"}),
        ({"SSL_CERT_FILE": "/ca.pem"}, {"PIP_CERT": "/ca.pem"}),
        ({"SSL_CERT_FILE": "/ca.pem", "REQUESTS_CA_BUNDLE": "/own.pem"}, {"PIP_CERT": None}),
        ({"SSL_CERT_FILE": ""}, {"PIP_CERT": None}),
    ],
)
def test_pip_hears_what_was_said_to_others(said: dict[str, str], heard: dict[str, str | None]) -> None:
    found = package_index.for_pip({**said, "PATH": "/bin"})
    assert {name: found.get(name) for name in heard} == heard
    assert {name: found[name] for name in (*said, "PATH")} == {**said, "PATH": "/bin"}


def test_nothing_is_made_up() -> None:
    assert package_index.for_pip({"PATH": "/bin"}) == package_index.for_node({"PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize("own", ["NODE_EXTRA_CA_CERTS", "npm_config_cafile"])
def test_node_hears_of_authorities_unless_it_has_its_own(own: str) -> None:
    assert package_index.for_node({"SSL_CERT_FILE": "/ca.pem"})["NODE_EXTRA_CA_CERTS"] == "/ca.pem"
    given = {"SSL_CERT_FILE": "/ca.pem", own: "/own.pem"}
    assert package_index.for_node(given) == given
