"""A visit: look at the machine, run everything, compare, and write the page.

The page is written anew before every run, because a compiler may end the process: it then says what was under way.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import jax

from jaxids import checks, outputs
from jaxids.agreement import compare
from jaxids.bench.table import progress
from jaxids.doctor import check, machine, text
from jaxids.doctor.check import Place, Ran, Setup
from jaxids.workers import cores

__all__ = ["run"]


def run(setup: Setup, out: str) -> bool:
    """Write the page, to a file and standard output or to the latter alone, and tell whether all agrees."""
    checks.count("--trials", setup.trials)
    if setup.steps is not None:
        checks.count("--steps", setup.steps)
    try:
        checks.devices()
    except ValueError as error:
        found = text.Findings(machine.facts(), [], [], [], [], [machine.one_line(str(error))])
    else:
        found = _examined(setup, out)
    progress("")
    page = text.page(setup, found)
    if not outputs.is_stdout(out):
        print(page, end="")
    outputs.write(out, page)
    return text.agrees(found)


def _examined(setup: Setup, out: str) -> text.Findings:
    places, ran, compared = check.places(setup), list[Ran](), list[text.Compared]()
    jobs = [(place, name) for place in places for name in place.policies]
    found = text.Findings(machine.facts(), machine.devices(), ran, compared, _left_out(setup))
    alone = check.accelerator() is None
    for batch in [jobs] if alone else [[job] for job in jobs]:
        for (place, name), start in zip(batch, _compiled(setup, found, batch, out), strict=True):
            progress(f"{len(ran) + 1} of {len(jobs)}: {name} on {place.name}")
            ran.append(start())
            compared += _beside(ran, ran[-1])
    return found


def _compiled(
    setup: Setup, found: text.Findings, batch: Sequence[tuple[Place, str]], out: str
) -> list[Callable[[], Ran]]:
    """Programs of some jobs, compiled side by side."""
    what = f"{batch[0][1]} on {batch[0][0].name}" if len(batch) == 1 else f"compiling {len(batch)} programs"
    if outputs.is_replaced(out):
        outputs.write(out, text.page(setup, found, what))

    def one(job: tuple[Place, str]) -> Callable[[], Ran]:
        progress(f"compiling {job[1]} on {job[0].name}")
        return check.attempt(setup, *job)

    with ThreadPoolExecutor(min(len(batch), cores())) as pool:
        return list(pool.map(one, batch))


def _beside(ran: Sequence[Ran], new: Ran) -> Iterator[text.Compared]:
    """A run beside earlier ones of its policy: on the CPU, and the first on the accelerator."""
    earlier = [each for each in ran if each.policy == new.policy and each is not new and each.outcome is not None]
    for other in earlier:
        there = new.place.split()[0] == other.place.split()[0] and other.place.endswith("loop")
        if new.outcome is not None and other.outcome is not None and (other.place == check.CPU or there):
            yield text.Compared(new.policy, new.place, other.place, compare(other.outcome, new.outcome))


def _left_out(setup: Setup) -> list[str]:
    """What cannot be looked at here, and why."""
    said = []
    if check.accelerator() is None:
        said.append("an accelerator: JAX found the CPU alone, which ran the programs of others")
        told = f", as JAX_PLATFORMS={jax.config.jax_platforms} has it" if jax.config.jax_platforms else ""  # pyright: ignore
        if idle := list(machine.plugins()):
            said.append(f"devices of {', '.join(idle)}: installed, but JAX uses none{told}")
    elif check.cpu() is None:
        said.append("the CPU: JAX_PLATFORMS has it not; it takes cpu after the others, as cuda,cpu")
    others = [each for each in jax.local_devices()[1:] if check.accelerator() is not None]
    return said + [f"device {each.id}, {each.device_kind}: the first of them ran everything" for each in others]
