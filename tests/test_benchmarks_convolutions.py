"""The convolutions of a network by themselves."""

from benchmarks.drivers import Setting
from benchmarks.networks import ROWS
from benchmarks.peers import PEERS


def test_all_convolutions_run_and_nothing_else() -> None:
    from torch.profiler import ProfilerActivity, profile

    driver = PEERS["convolutions"].get_ready(Setting(ROWS["resnet50-infer1"]))()
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as seen:
        driver.run(1)
    calls = {each.key: each.count for each in seen.key_averages()}
    memory = {"aten::empty", "aten::resize_"}
    assert {name: count for name, count in calls.items() if name not in memory} == {
        "mkldnn::_convolution_pointwise": 53
    }
