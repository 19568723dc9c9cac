"""The filters of streams, as the template has them."""

from collections.abc import Iterator, Mapping, Sequence


def flat(pattern: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield each attribute of a pattern, the kind of its test, and the values."""
    for name, rule in pattern.items():
        ((kind, values),) = rule.items()
        yield name, kind, values
