"""The report: figures, final regrets, and claims with the numbers that decide them."""

__all__: list[str] = []
