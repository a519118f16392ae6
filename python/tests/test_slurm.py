"""The command line that docs/cluster.md gives for Slurm, tried on a Slurm of one node that the tests start."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time

import ouzel
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

PATIENCE_S = 120

CONFIGURATION = """
ClusterName=ouzel
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
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
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment of a Slurm of one node, whose three daemons are children of this process."""
    if missing := [name for name in ["munged", "slurmctld", "slurmd", "srun"] if shutil.which(name) is None]:
        pytest.skip(f"Slurm is not installed: no {missing[0]}")
    if os.geteuid() != 0:
        pytest.skip("slurmd needs root")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ["state", "spool"]:
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    controller_port, node_port = free_ports(2)
    configuration = folder / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    configuration.write_text(
        CONFIGURATION.format(host=host, folder=folder, controller_port=controller_port, node_port=node_port)
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    munge = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "munge.pid",
             "log-file": folder / "munge.log", "seed-file": folder / "munge.seed"}
    running = []

    def start(*command):
        with open(folder / f"{command[0]}.out", "w") as log:
            running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment))

    try:
        start("munged", "--foreground", "--force", *(f"--{name}={value}" for name, value in munge.items()))
        until(lambda: munge["socket"].exists(), "munged")
        start("slurmctld", "-D")
        start("slurmd", "-D")

        def says(*command):
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S).stdout.strip()

        def is_idle():
            return says("sinfo", "--noheader", "--format=%t") == "idle"

        try:
            until(is_idle, "an idle node")
        except AssertionError:
            logs = [(folder / name).read_text().splitlines()[-1:] for name in ["slurmctld.out", "slurmd.out"]]
            pytest.skip(f"Slurm does not run on this machine: {logs}")
        yield environment
        # The processes that hold its steps report to the daemons before they end.
        until(lambda: says("squeue", "--noheader") == "" and is_idle(), "the end of the last job")
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until(condition, what):
    """Waits for another process."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited for {what} in vain"
        time.sleep(0.05)


def documented(docs, **words):
    """The words of the documented command, some of them as this machine needs them."""
    line = next(line for line in (docs / "cluster.md").read_text().splitlines() if line.startswith("srun "))
    assert all(word in line for word in words)
    for word, instead in words.items():
        line = line.replace(word, instead)
    return [sys.executable if word == "python" else word for word in shlex.split(line)]


def test_the_documented_command_answers_in_a_job(slurm, docs, testdata, tmp_path):
    command = documented(
        docs,
        **{
            "--ntasks=33": "--ntasks=3",
            "--cpus-per-task=4": "--cpus-per-task=2",
            "/scratch/run/scheduler": str(tmp_path / "scheduler"),
            "/scratch/run ": f"{testdata / 'pmpi-jacobi'} --group-bytes 0 ",
        },
    )
    ran = subprocess.run(command, env=slurm, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["data"] == ouzel.open(testdata / "pmpi-jacobi").report()
    assert "100 %" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_error_ends_the_whole_step(slurm, docs, tmp_path):
    command = documented(
        docs, **{"--ntasks=33": "--ntasks=2", "/scratch/run/scheduler": str(tmp_path / "scheduler"), "--cpus-per-task=4": ""}
    )
    ran = subprocess.run(command, env=slurm, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)
    assert ran.returncode == 1
    assert "error: " in ran.stderr and "/scratch/run" in ran.stderr
    assert ran.stdout == ""
