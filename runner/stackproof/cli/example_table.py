"""The examples at the end of every `--help`: for each command its path below `stackproof`, and a few lines to type.

A line that begins with # says what the next one does. `examples.py` shows them; a test parses each as the shell would
hand it over, with the names of this repository's suites, setups, stacks, lanes and claims.
"""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "": """
        # Run a suite; every model call is answered from its recording
        stackproof run --suite base
        # What runs, and nothing is started
        stackproof run --suite base --dry-run
        # All that the release policy asks for, and one verdict
        stackproof verify-release
    """,
    "benchmark": """
        # Measure, and compare with an older run
        stackproof benchmark --baseline ci/baseline.json
    """,
    "claims": """
        # Do the claims hold here?
        stackproof claims run
    """,
    "claims list": """
        # Which are required, and what this machine lacks for them
        stackproof claims list
    """,
    "claims run": """
        # All of them
        stackproof claims run
        # One of them
        stackproof claims run timed-out-process-is-gone
    """,
    "claims show": """
        # Fault, events and residue of one claim
        stackproof claims show timed-out-process-is-gone
    """,
    "completion": """
        # What bash needs, to look at it; above is where it belongs
        stackproof completion bash
    """,
    "docs": """
        # How to inject faults
        stackproof docs faults
        # What is this error about?
        stackproof docs --search "cannot be read as YAML"
        # Which pages are there?
        stackproof docs
    """,
    "doctor": """
        # All that a bug report, or a first run, needs to know
        stackproof doctor
        # Two of its checks alone
        stackproof doctor --only docker,keys
        # For a program: every finding has an id that stays
        stackproof doctor --json
    """,
    "drift": """
        # The newest run with --inference-mode verify
        stackproof drift
        # As a comment on an issue, whole
        stackproof drift 7f3c2a --all --markdown
    """,
    "edge": """
        # Replay to a program in another language, which gets the URLs printed
        stackproof edge --setup gpt --suite base --port 8787
        # Record what it asks
        stackproof edge --setup gpt --inference-mode record-if-missing
    """,
    "exec": """
        # A server that records or replays as the variables of a run say
        stackproof exec -- uvicorn shop.app:app --port 8000
    """,
    "freshness": """
        # In a job of its own, each day
        stackproof freshness --setup gpt,anthropic --max-age-days 8
    """,
    "init": """
        # Look first: everything is shown, nothing is written
        stackproof init --dry-run
        # Take what is proposed, with a workflow for GitHub
        stackproof init --yes --ci github
    """,
    "lane": """
        # Which lanes there are, then one of them
        stackproof lane list
        stackproof lane run library
    """,
    "lane check": """
        # Would a pull request prove all that the policy asks for?
        stackproof lane check --trigger pull_request
    """,
    "lane list": """
        # All lanes as a table
        stackproof lane list
        # The matrix of a job of GitHub Actions
        stackproof lane list --trigger pull_request --format github-matrix
    """,
    "lane run": """
        # The job of CI, here
        stackproof lane run library
        # Its first third
        stackproof lane run library --shard 1/3 --timings ci/timings.json
    """,
    "lane show": """
        # Cells, checks and variables of one lane
        stackproof lane show docker
    """,
    "plan": """
        # Who would run what in three jobs, and how long
        stackproof plan --lane library --shards 3 --timings ci/timings.json
        # A Job of Kubernetes
        stackproof plan --lane library --shards 3 --format kubernetes \\
            --claim evidence --image ghcr.io/o/shop@sha256:HEX
    """,
    "policy": """
        # What the policy asks for, in sentences
        stackproof policy explain
    """,
    "policy check": """
        # Waivers and expectations, against the newest run
        stackproof policy check
    """,
    "policy explain": """
        # What the policy asks for, in sentences
        stackproof policy explain
    """,
    "policy update": """
        # See first what would be expected from now on, then write it
        stackproof policy update --dry-run
        stackproof policy update
    """,
    "recordings": """
        # What is there, and what is wrong with it
        stackproof recordings list --setup ollama
        stackproof recordings check
    """,
    "recordings apply": """
        # Would this patch of a pull request be taken?
        stackproof recordings apply --check recordings.patch
    """,
    "recordings check": """
        # All recordings
        stackproof recordings check
        # Secrets and damage only, of one setup
        stackproof recordings check --setup ollama --only secret --only damaged
    """,
    "recordings diff": """
        # A file against its last commit
        stackproof recordings diff recordings/ollama
        # What a pull request changes, as Markdown
        stackproof recordings diff --git origin/main...HEAD
    """,
    "recordings explain": """
        # Why does this test miss a recording?
        stackproof recordings explain tests/integration/base/test_chat.py
    """,
    "recordings find": """
        # Where a call with this identity looks, as --debug prints it
        stackproof recordings find 001bc6314b18-1dfe91bf9b9c8e31b7d8
    """,
    "recordings identity": """
        # Which recording would this request have?
        stackproof recordings identity --setup ollama --suite base \\
            --url '{OLLAMA_URL}/chat/completions' --body @body.json
    """,
    "recordings import": """
        # What vcrpy's cassettes would become
        stackproof recordings import --dry-run --setup gpt tests/cassettes
    """,
    "recordings list": """
        # The largest of a suite first
        stackproof recordings list --suite base --sort size
        # Those of one model, for a program
        stackproof recordings list --model 'smollm2*' --json
    """,
    "recordings normalize": """
        # See first what would change
        stackproof recordings normalize --dry-run
    """,
    "recordings patch": """
        # What this job recorded, for a job that may write
        stackproof recordings patch --output .stackproof/recordings.patch
    """,
    "recordings promote": """
        # After a run that was killed while it recorded
        stackproof recordings promote 7f3c2a
    """,
    "recordings prune": """
        # See first what would go
        stackproof recordings prune --setup ollama --dry-run
    """,
    "recordings rekey": """
        # After an update of an SDK: the same answers to what it sends now
        stackproof recordings rekey --run last --dry-run
    """,
    "recordings rename": """
        # A test has another name
        stackproof recordings rename tests/test_a.py::test_b tests/test_a.py::test_c
        # A model has another name, in requests and in parameters
        stackproof recordings rename --model smollm2:135m smollm2:360m
    """,
    "recordings show": """
        # By the first digits of a file's name, as `list` prints them
        stackproof recordings show 001bc6314b18-1dfe91
    """,
    "recordings stats": """
        # How many of each model, and how old
        stackproof recordings stats --by model --by age
    """,
    "run": """
        # Replay a suite; no key and no network is needed
        stackproof run --suite base --stack-config server:reference
        # Record what new tests ask, with the setup's key in the environment
        stackproof run --setup gpt --inference-mode record-if-missing
        # One test, stopping in the debugger where it fails
        stackproof run --file tests/integration/base/test_chat.py -- -x --pdb
    """,
    "setups": """
        # All of them, with the keys that each needs
        stackproof setups
    """,
    "setups show": """
        # URLs, models and the names of its keys
        stackproof setups show gpt
    """,
    "smoke": """
        # Four calls at most of a real model
        STACKPROOF_LIVE_MODEL=openai/gpt-4o-mini stackproof smoke --max-requests 4
        # On a schedule: a missing key is a failure
        stackproof smoke --setup gpt,anthropic --require
    """,
    "stack": """
        # A stack to try by hand, until Ctrl-C
        stackproof stack up server:reference --setup ollama
        # What killed runs left on the Docker engine goes
        stackproof stack down
    """,
    "stack down": """
        # What killed runs left
        stackproof stack down
        # What one run has, and the images that were built
        stackproof stack down 7f3c2a --images
    """,
    "stack image": """
        # For shards on other machines
        stackproof stack image reference
    """,
    "stack logs": """
        # What the containers of a run write, as they write it
        stackproof stack logs --follow 7f3c2a
    """,
    "stack ps": """
        # Containers and networks of all runs
        stackproof stack ps
    """,
    "stack up": """
        # A process that answers from recordings
        stackproof stack up server:reference --setup ollama
        # In a container, with calls that go out to a model on this machine
        stackproof stack up docker:reference --setup llama-cpp \\
            --inference-mode live --provider-service llama-cpp
    """,
    "stacks": """
        # What --stack-config and --provider-service take
        stackproof stacks
    """,
    "suites": """
        # What --suite takes
        stackproof suites
    """,
    "timings": """
        # Keep how long tests took, to balance shards
        stackproof timings --output ci/timings.json
    """,
    "trace": """
        # What a model client streamed
        stackproof trace show traces/weather.jsonl
    """,
    "trace check": """
        # All traces of a project
        stackproof trace check traces/*.jsonl
    """,
    "trace migrate": """
        # See first what would change
        stackproof trace migrate --dry-run traces/weather.jsonl
    """,
    "trace show": """
        # Each event of the exchange at line 2
        stackproof trace show --line 2 --events traces/weather.jsonl
    """,
    "typecheck": """
        # What the configuration of mypy names
        stackproof typecheck
        # One folder, strictly
        stackproof typecheck --strict runner
    """,
    "verdict": """
        # The newest run again
        stackproof verdict
        # The runs of several lanes as one, in every form
        stackproof verdict --output .stackproof/verdict evidence/*/
    """,
    "verify-release": """
        # Everything, two cells side by side
        stackproof verify-release --cells-at-once 2
        # One claim alone
        stackproof verify-release --claim timed-out-process-is-gone
    """,
}
