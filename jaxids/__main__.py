"""What the installed command and `python -m jaxids` run."""

from jaxids import interrupts


def script() -> None:
    """Catch interrupts, then import the command line and run it."""
    interrupts.catch()
    from jaxids import cli

    cli.script()


if __name__ == "__main__":
    script()
