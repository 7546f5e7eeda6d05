"""What the installed command and `python -m jaxids` run."""

from jaxids import interrupts


def script() -> None:
    """Catch interrupts, then import the command line and run it on a worker thread."""
    interrupts.catch()
    interrupts.run(_command)


def _command() -> int:
    from jaxids import cli

    return cli.script()


if __name__ == "__main__":
    script()
