"""What runs leave on a swarm is seen and taken away by `stackproof stack` where its manager is asked, not elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.e2e.swarm.swarm_engines import SwarmEngines, run, until

from stackproof.stack import labels, sweep
from stackproof.stack.engine_records import ContainerSpec, JobSpec, SecretUse

STACK = [sys.executable, "-m", "stackproof", "stack"]


def left_by(swarm: SwarmEngines, run_id: str, pid: int, *, host: str = "engine-1") -> None:
    """All that a run has on a swarm, for a process that is or was. host: where its task runs."""
    engine, marks = swarm.manager, labels.of(run_id, "toy", labels.owner(pid))
    image = engine.image(swarm.base)
    assert image is not None
    command = ("python3", "-c", "import os, time; print(os.environ.get('WHO', 'depot'), flush=True); time.sleep(3600)")
    network = engine.create_overlay(f"{run_id}-net", labels=marks, internal=True)
    secret = engine.create_secret(f"{run_id}-secret", b"of nobody else", labels=marks)
    job = engine.create_job(
        JobSpec(
            name=f"{run_id}-job",
            image=image.id,
            replicas=1,
            command=command,
            entrypoint=(),
            labels=marks,
            environment={"WHO": "task"},
            networks=(network,),
            secrets=(SecretUse(id=secret, name=f"{run_id}-secret", target="key"),),
            constraints=(f"node.hostname=={host}",),
            stop_grace=0.5,
        )
    )
    depot = engine.create(
        ContainerSpec(name=f"{run_id}-depot", image=image.id, command=command, labels=marks, network=f"{run_id}-net")
    )
    engine.start(depot)
    until(lambda: [task.state for task in engine.tasks(job)] == ["running"], "no task runs")


def _logs(swarm: SwarmEngines, run_id: str) -> list[str]:
    return sorted(run([*STACK, "logs", run_id], swarm.environ()).stdout.split())


def test_only_what_killed_runs_left_goes(swarm: SwarmEngines) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    with subprocess.Popen(["sleep", "3600"]) as alive:
        try:
            left_by(swarm, "dead", gone.pid)
            left_by(swarm, "live", alive.pid)
            shown = json.loads(run([*STACK, "ps", "--json"], swarm.environ()).stdout)["items"]
            assert [(item["kind"], item["name"], item["abandoned"]) for item in shown] == [
                (kind, f"{name}-{what}", name == "dead")
                for kind, what in (("service", "job"), ("container", "depot"), ("secret", "secret"), ("network", "net"))
                for name in ("dead", "live")
            ]
            swept = run([*STACK, "down"], swarm.environ())
            assert (swept.returncode, swept.stderr) == (0, "")
            assert swept.stdout == "run dead was killed; removed 1 service, 1 container, 1 secret and 1 network\n"
            assert [item.labels[labels.RUN] for item in sweep.listed(swarm.manager)] == ["live"] * 4
            # They run, and say so a moment later.
            until(
                lambda: _logs(swarm, "live") == ["depot", "task"], "not both speak", told=lambda: _logs(swarm, "live")
            )
            everything = run([*STACK, "down", "--all"], swarm.environ())
            assert everything.stdout == "run live is down; removed 1 service, 1 container, 1 secret and 1 network\n"
        finally:
            alive.kill()
            sweep.everything(swarm.manager)


def test_a_worker_shows_only_what_is_its_own(swarm: SwarmEngines, everywhere: None) -> None:
    left_by(swarm, "here", 1, host="engine-2")
    try:
        with swarm.engine(2) as worker:
            assert "here-net" in {item["Name"] for item in worker._client.networks()}
            assert [item.kind for item in sweep.listed(worker)] == ["container"]
            assert sweep.everything(worker) == ("run here is down; removed 1 container",)
        assert [item.kind for item in swarm.manager.owned_in_swarm(labels.RUN)] == ["service", "secret", "network"]
    finally:
        sweep.everything(swarm.manager)
