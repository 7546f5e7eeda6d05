"""The commands: each a function that adds its parser, and one that it runs.

Nothing here imports JAX or matplotlib: a command does when it runs, so that help, version and mistakes answer at once.
"""

from collections.abc import Callable
from typing import Any

from jaxids.commands.machines import add_bench, add_doctor
from jaxids.commands.results import add_export, add_plot, add_report
from jaxids.commands.runs import add_run, add_status

COMMANDS: tuple[Callable[[Any], None], ...] = (
    add_run,
    add_status,
    add_plot,
    add_report,
    add_export,
    add_bench,
    add_doctor,
)
