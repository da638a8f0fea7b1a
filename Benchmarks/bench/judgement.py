"""Whether a ratio is so far off that noise cannot be the reason: what the short form fails for."""

# How often a row is measured at most while it looks far off. A busy machine makes a ratio wrong for half a minute; a
# fault in the code makes it wrong each time.
ATTEMPTS = 3


def far_off(results):
    """The results whose ratio is above the bound that its row has for this. Not all have one."""
    return [result for result in results if result.far_off is not None and result.ratio > result.far_off]


def measured(row, bench):
    """What a row measures. While a ratio is far off the row is measured again, and the best of each counts."""
    best = row(bench)
    for _ in range(ATTEMPTS - 1):
        off = far_off(best)
        if not off:
            break
        bench.note("far off, and measured again: " + "; ".join(f"{result.work} {result.ratio:.2f}" for result in off))
        best = [min(pair, key=lambda result: result.ratio) for pair in zip(best, row(bench), strict=True)]
    return best


def verdict(results):
    """What to say of those that are far off, a line for each; empty where none is."""
    return "\n".join(
        f"bench: {result.work}: {result.ratio:.2f} times {result.against}, far off above {result.far_off:g}"
        for result in far_off(results)
    )
