"""A SLURM of one node on this machine, in a folder of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
CONFIG = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=60
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_interval=1
MinJobAge=3600
KillWait=5
MessageTimeout=60
BatchStartTimeout=120
UnkillableStepTimeout=300
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=16000
PartitionName=demo Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Why no cluster can be started here, None where one can."""
    os.environ["PATH"] += f"{os.pathsep}/usr/sbin"
    absent = [command for command in COMMANDS if shutil.which(command) is None]
    if absent:
        return f"no {', '.join(absent)}: apt-get install slurm-wlm munge"
    return None if os.geteuid() == 0 else "SLURM's daemons need root"


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Environment in which ``sbatch`` and its like talk to a cluster that lives as long as the block."""
    host = socket.gethostname().split(".")[0]
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONFIG.format(host=host, folder=folder, ports=_free_ports(2)))
    munge = {"key": "key", "socket": "munge.socket", "pid": "munged.pid", "log": "munged.log", "seed": "munged.seed"}
    options = [f"--{name}{'' if name == 'socket' else '-file'}={folder / file}" for name, file in munge.items()]
    environment = os.environ | {"SLURM_CONF": f"{folder}/slurm.conf"}
    with ExitStack() as daemons:
        for command in (["munged", "--force", "--foreground", *options], ["slurmctld", "-D"], ["slurmd", "-D"]):
            log = daemons.enter_context((folder / f"{command[0]}.out").open("w"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            daemons.callback(_stop, process)
            if command[0] == "munged":
                _until((folder / "munge.socket").exists, "munged made no socket")
        _until(lambda: "idle" in slurm(environment, "sinfo", "-h", "-o", "%t"), "the node did not become idle")
        yield environment
        slurm(environment, "scancel", "--full", "--user=root")
        _until(lambda: not slurm(environment, "squeue", "-h"), "jobs did not end")


def slurm(environment: dict[str, str], *command: str) -> str:
    """Output of one of SLURM's commands; errors count as no answer yet."""
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


def tend(environment: dict[str, str]) -> None:
    """Do what an administrator does on a busy machine: release what a failed launch held, resume a drained node."""
    for job, reason in (
        line.split(maxsplit=1) for line in slurm(environment, "squeue", "-rh", "-o", "%i %r").splitlines()
    ):
        if "held" in reason.lower():
            slurm(environment, "scontrol", "release", job)
    for node in slurm(environment, "sinfo", "-Nh", "-t", "drain,down", "-o", "%N").splitlines():
        slurm(environment, "scontrol", "update", f"nodename={node}", "state=resume")


def state(environment: dict[str, str]) -> str:
    """What an administrator would look at: jobs, node, ends of the daemons' logs."""
    commands = (["scontrol", "show", "job"], ["sinfo", "-R"], ["scontrol", "show", "node"])
    logs = [Path(environment["SLURM_CONF"]).with_name(f"{daemon}.log") for daemon in ("slurmctld", "slurmd")]
    return "\n".join([slurm(environment, *one) for one in commands] + [log.read_text()[-3000:] for log in logs])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _until(condition: object, otherwise: str, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.1)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
