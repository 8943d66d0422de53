"""One llama.cpp server with one model: the child process of `serve.py`.

It listens on a port that the kernel picks, reports it as `{"port": N}` on a file descriptor, and ends with its parent.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
from urllib.parse import urlsplit

import xllamacpp

API_KEY_VARIABLE = "LLAMA_API_KEY"
_PR_SET_PDEATHSIG = 1  # prctl(2)


def parameters(
    *, model: str, alias: str, context: int, embeddings: bool, api_key: str | None
) -> xllamacpp.CommonParams:
    """What keeps answers equal: one thread, one slot, greedy sampling, no prompt cache, no pings in streams."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.n_predict = 256  # for requests that set no limit: small models like to go on for ever
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.sampling.seed = 0
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.slot_prompt_similarity = 0.0
    params.n_batch = params.n_ubatch = 512
    params.fit_params = False
    params.sse_ping_interval = -1
    params.ui = False
    params.endpoint_slots = False
    if embeddings:
        # The same server goes on to answer chats: every output is computed, and pooled only when asked for.
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    if api_key is not None:
        params.api_keys = [api_key]
    return params


def main() -> None:
    """Start the server, report its port, sleep until a signal ends the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--report", type=int, required=True, help="file descriptor")
    parser.add_argument("--parent", type=int, required=True, help="process id")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != given.parent:  # it died before prctl took effect
        sys.exit(1)
    server = xllamacpp.Server(
        parameters(
            model=given.model,
            alias=given.alias,
            context=given.context,
            embeddings=given.embeddings,
            api_key=os.environ.get(API_KEY_VARIABLE),
        )
    )
    port = urlsplit(server.listening_address).port
    # The descriptor stays open: its end tells the parent about ours.
    os.write(given.report, json.dumps({"port": port}).encode() + b"\n")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
