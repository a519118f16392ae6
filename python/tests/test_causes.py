"""Bottlenecks of a profile and what explains them."""

import pytest

import ouzel


@pytest.fixture
def profile(testdata):
    return ouzel.open(testdata / "zoo/static_imbalance/faulty/traces.otf2").severity_cube()


def test_uneven_work_is_found(profile):
    found = profile.causes()
    clusters = [cluster["processes"] for cluster in found["external"]["clusters"]]
    assert clusters == [[0, 1, 2, 3, 4], [5, 6, 7]]
    cores = [region["call_path"][-1] for core in found["external"]["cccr"] for region in core["regions"]]
    assert cores == ["solve"]
    assert found["external"]["causes"][0]["measure_next"]
    assert found["time"]["without_communication"]
    assert {"clusters", "severity", "ccr", "cccr", "causes"} <= found["external"].keys()
    assert {"classes", "ccr", "cccr", "causes"} <= found["internal"].keys()


def test_ranks_can_be_left_out(profile):
    found = profile.causes(exclude="5-7", jobs=1)
    assert found["processes"]["excluded"] == [5, 6, 7]
    assert len(found["external"]["clusters"]) == 1


@pytest.mark.parametrize(
    "arguments", [{"metric": "nothing"}, {"exclude": "a-b"}, {"clustering": "magic"}, {"jobs": 0}, {"exclude": "0-99"}]
)
def test_what_means_nothing_is_a_wrong_value(profile, arguments):
    with pytest.raises(ValueError):
        profile.causes(**arguments)
