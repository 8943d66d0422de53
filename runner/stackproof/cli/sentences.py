"""What each command does that lives in a module of its own, so that `--help` and completion import none of them.

Path below `stackproof` -> the first sentence of the command's own help; a test keeps both the same.
"""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "claims": "Say what must follow when something breaks, and find out whether it does.",
    "completion": "Print what a shell needs to complete commands, options and the names of a project.",
    "docs": "Read the documentation here: the list of pages, or one of them.",
    "doctor": "Say what of this machine and this project is missing or odd, and what to do about it.",
    "drift": "Say how live answers differ in shape from the recordings of the same tests.",
    "edge": "Stand in for the providers of a setup, for a stack in any language.",
    "freshness": "Say whether a live smoke of each setup has passed of late.",
    "init": "Put the project in this folder under test.",
    "lane": "List, show and run the jobs of CI, which ci/matrix.yaml names.",
    "plan": "Show what a lane would run, and run nothing.",
    "policy": "Look after the release policy (ci/release.yaml) and the tests it expects (ci/expected/).",
    "recordings": "Look after recordings: read, compare, check, clean, move and import them.",
    "recordings apply": "Check a patch of recordings that somebody else made, and apply it.",
    "recordings check": "Name what is wrong with recordings, and what to do about it.",
    "recordings diff": "Say what changed in the meaning of recordings.",
    "recordings explain": "Tell how FILE came by its name, or what TEST has recorded and what it misses.",
    "recordings find": "Tell where IDENTITY is looked up and what is there.",
    "recordings identity": "Compute which recording a request has, and tell whether it is there.",
    "recordings import": "Take over the recordings in DIR (or one file) that another tool made.",
    "recordings list": "List recordings, a line for each.",
    "recordings normalize": "Bring recordings to what would be written today.",
    "recordings patch": "Write what changed below the recording directory as a patch.",
    "recordings prune": "Remove recordings that no test asks for any more.",
    "recordings rekey": "Give recordings the key that look-up asks for now.",
    "recordings rename": "Move recordings to the new name of a test, a model, or what else they belong to.",
    "recordings show": "Show what was asked and what was answered, recording by recording.",
    "recordings stats": "Count recordings by what they are.",
    "smoke": "Make a few real calls of each model, within a budget.",
    "stack": "Start a stack by itself, and look after those in containers.",
    "stack image": "Build the image that runs shards of this project elsewhere.",
    "stack up": "Start a stack as a run would, print its address, and take it down at Ctrl-C.",
    "timings": "Say how long tests took, and write it down for `--timings`.",
    "trace": "Read, check and migrate traces of model clients (.jsonl, .jsonl.zst).",
    "verdict": "Weigh runs again, against what the project is now.",
}
