"""AWS Signature Version 4 as a receiver checks it, written from AWS's description and not with AWS's code.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any
from urllib.parse import quote

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<signed>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})\Z"
)


def check(asked: Any, *, key: str, secret: str, region: str, service: str) -> None:
    """AssertionError when the request that came in is not signed with these credentials, for this service."""
    found = _AUTHORIZATION.match(asked.headers["authorization"])
    assert found, asked.headers["authorization"]
    assert (found["key"], found["region"], found["service"]) == (key, region, service), asked.headers["authorization"]
    names = found["signed"].split(";")
    assert {"host", "x-amz-date"} <= set(names)
    assert "?" not in asked.target, "a query would have to be sorted and encoded here"
    canonical = "\n".join(
        (
            asked.method,
            quote(asked.path, safe="/-_.~"),  # what is encoded already is encoded once more, S3 apart
            "",
            *(f"{name}:{' '.join(asked.headers[name].split())}" for name in names),
            "",
            found["signed"],
            hashlib.sha256(asked.body).hexdigest(),
        )
    )
    moment = asked.headers["x-amz-date"]
    where = f"{found['day']}/{region}/{service}/aws4_request"
    told = f"AWS4-HMAC-SHA256\n{moment}\n{where}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signer = b"AWS4" + secret.encode()
    for part in (found["day"], region, service, "aws4_request"):
        signer = hmac.digest(signer, part.encode(), "sha256")
    assert moment.startswith(found["day"])
    assert hmac.digest(signer, told.encode(), "sha256").hex() == found["signature"]
