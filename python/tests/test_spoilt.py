"""Jobs and partials that were spoilt on their way: an error, never a panic."""

import random

import ouzel
import ouzel._cluster
import pytest
from ouzel import _core

N_MUTATIONS = 150


class Nearby:
    """Does what a cluster does, in this process; `spoil` may change what is handed over at each step."""

    def __init__(self, client, path, checkpoint, patience_s):
        self.spoil, self.path = client, path

    def run(self, job, fingerprint, groups, n_buckets):
        spoil = self.spoil
        parts = [_core.fold_group(spoil("job", job), self.path, locations) for locations, _ in groups]
        rests = [spoil("rest", part[0]) for part in parts]
        settled = []
        for bucket in range(n_buckets):
            pieces = [spoil("piece", part[1 + bucket]) for part in parts]
            settled.append(_core.settle_bucket(job, self.path, pieces))
        yield [spoil("result", part) for part in [_core.merge_partials(job, rests), *settled]]


@pytest.fixture
def ask(monkeypatch, testdata):
    monkeypatch.setattr(ouzel._cluster, "Cluster", Nearby)
    trace = ouzel.open(testdata / "pmpi-masterio")

    def ask(spoil, question=lambda trace: trace.calculate_lateness()):
        return question(trace.on(spoil, group_bytes=0))

    return ask


def test_what_is_not_spoilt_gives_the_answer(ask, testdata):
    expected = ouzel.open(testdata / "pmpi-masterio").calculate_lateness().to_dict()
    assert ask(lambda step, data: data).to_dict() == expected


def mutated(rng, data):
    """One of the things that wires and disks do."""
    data = bytearray(data)
    kind = rng.randrange(6)
    at = rng.randrange(len(data)) if data else 0
    if kind <= 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at:] = b""
    elif kind == 3:
        data += rng.randbytes(rng.randrange(1, 9))
    elif kind == 4:
        data[at : at + 8] = rng.randbytes(8)
    else:
        data[:] = rng.randbytes(rng.randrange(64))
    return bytes(data)


@pytest.mark.parametrize("step", ["job", "rest", "piece", "result"])
def test_what_is_spoilt_is_an_error(ask, step):
    rng = random.Random(step)
    for _ in range(N_MUTATIONS if step == "job" else N_MUTATIONS // 5):
        n_before = rng.randrange(4)
        spoilt = []

        def spoil(at, data):
            nonlocal n_before
            if at != step or spoilt:
                return data
            n_before -= 1
            if n_before > 0:
                return data
            spoilt.append((data, mutated(rng, data)))
            return spoilt[0][1]

        with pytest.raises(ouzel.OuzelError, match="damaged|cannot work together"):
            ask(spoil)
        assert spoilt and spoilt[0][0] != spoilt[0][1]


@pytest.mark.parametrize("call", ["fold_group", "merge_partials", "settle_bucket"])
def test_bytes_of_anything_are_refused(call, testdata):
    rng = random.Random(call)
    path = testdata / "pmpi-masterio"
    for length in [0, 1, 2, 30, 100, 1000]:
        for _ in range(20):
            job = rng.randbytes(length)
            arguments = {"fold_group": [path, [0]], "merge_partials": [[job]], "settle_bucket": [path, [job]]}
            with pytest.raises(ouzel.OuzelError):
                getattr(_core, call)(job, *arguments[call])
