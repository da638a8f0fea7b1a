"""Decides whether a ratio is so high that noise cannot be the reason. The short form then fails."""

# If a row looks far off, it is measured again, up to this number of times in all. A busy machine makes a ratio wrong
# for half a minute, but a fault in the code makes it wrong each time.
ATTEMPTS = 3


def far_off(results):
    """The results whose ratio is above their `far_off`. Some results have no such limit."""
    return [result for result in results if result.far_off is not None and result.ratio > result.far_off]


def measured(row, bench):
    """Measures a row, and again while a ratio is far off. Returns the best of each result."""
    best = row(bench)
    for _ in range(ATTEMPTS - 1):
        off = far_off(best)
        if not off:
            break
        bench.note("far off, and measured again: " + "; ".join(f"{result.work} {result.ratio:.2f}" for result in off))
        best = [min(pair, key=lambda result: result.ratio) for pair in zip(best, row(bench), strict=True)]
    return best


def verdict(results):
    """A line for each result that is far off; empty if none is."""
    return "\n".join(
        f"bench: {result.work}: {result.ratio:.2f} times {result.against}, far off above {result.far_off:g}"
        for result in far_off(results)
    )
