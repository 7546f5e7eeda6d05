"""Types checked at run time, both precisions, reproducible hypothesis runs, and programs that are compiled once."""

import gc
import os
from pathlib import Path

import jax
import numpy as np
import processes
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# `float` takes an int, as type checkers have it. The edge (policies, problems, the simulator) checks what users pass by
# itself, and the tests pass it wrong types.
CHECKED = ("lanes", "draws", "beliefs", "confidence", "checks", "ratio", "information", "bounds")
install_import_hook(
    [f"jaxids.{name}" for name in CHECKED],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# Programs that several modules or processes run are compiled once, also by the next run of the suite. One that a
# process reads while another is writing it is compiled by both.
CACHE = {
    "compilation_cache_dir": str(Path(__file__).parents[1] / "build/programs"),
    "persistent_cache_min_compile_time_secs": 0.3,
}
for name, value in CACHE.items():
    os.environ[f"JAX_{name.upper()}"] = str(value)  # of processes that tests start
    jax.config.update(f"jax_{name}", value)

settings.register_profile("reproducible", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("reproducible")


LONGEST = ("test_boxes", "test_ways", "test_notebooks", "test_interruptions", "test_domain_experiments", "test_cluster")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run all tests, including those marked slow")


def pytest_collection_modifyitems(config, items):
    """Deselect slow tests without --slow, and put the longest modules first, so that no worker ends alone with one."""
    if not config.getoption("slow"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def at_scale(request):
    """Whether slow tests run too: then a test may try more cases than it needs to check its promise once."""
    return request.config.getoption("slow")


@pytest.fixture
def no_process_left():
    """Processes that the test has started end with it."""
    yield
    processes.end_all()


@pytest.fixture
def x64():
    """The test computes in float64."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=["float32", pytest.param("float64", marks=pytest.mark.slow)])
def dtype(request):
    """The test runs in the precision that is JAX's default, and at scale in the other too."""
    with jax.enable_x64(request.param == "float64"):
        yield np.dtype(request.param)


@pytest.fixture
def rng():
    """Random inputs, the same in every run."""
    return np.random.default_rng(20180704)


@pytest.fixture(autouse=True, scope="module")
def _forget():
    """What a module compiled goes with it: the code of a thousand tests is more mappings than Linux gives a process."""
    yield
    jax.clear_caches()
    gc.collect()
