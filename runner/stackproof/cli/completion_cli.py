"""`stackproof completion`: the script that a shell loads to complete our commands, options and names."""

from __future__ import annotations

import click

from stackproof import console
from stackproof.cli import shells
from stackproof.errors import ExitCode


@click.command("completion")
@click.argument("shell", type=click.Choice(list(shells.SHELLS)), metavar="|".join(shells.SHELLS))
def completion(shell: str) -> int:
    """Print what a shell needs to complete commands, options and the names of a project.

    Put it where the shell looks, once; the names are those of the folder that you are in: suites, setups, stacks,
    lanes, services, runs, and tests with recordings.

    \b
    bash  stackproof completion bash > \\
            ~/.local/share/bash-completion/completions/stackproof
          or, without the package bash-completion, in ~/.bashrc:
            eval "$(stackproof completion bash)"
    zsh   in ~/.zshrc, below compinit:
            eval "$(stackproof completion zsh)"
    fish  stackproof completion fish > ~/.config/fish/completions/stackproof.fish
    """
    console.out(shells.script(shell))
    return ExitCode.PASS
