"""The results, as a table and as JSON."""

import json
import statistics


class Result:
    """One row: values of our server and of the other one, measured in turn.

    `limit` is the highest ratio that is good. A ratio above `far_off` shows a fault: it is at least twice the usual
    ratio, because on a busy machine even a ratio can be off by half.
    """

    def __init__(self, work, against, unit, limit=None, far_off=None):
        self.work, self.against, self.unit, self.limit, self.far_off = work, against, unit, limit, far_off
        self.ours, self.theirs = [], []

    def add(self, ours, theirs):
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratio(self):
        """The ratio of the medians."""
        theirs = statistics.median(self.theirs)
        return statistics.median(self.ours) / theirs if theirs else float("inf")

    @property
    def is_met(self):
        return self.limit is None or self.ratio <= self.limit

    def dictionary(self):
        def summary(samples):
            return {"median": statistics.median(samples), "lowest": min(samples), "highest": max(samples)}

        return {
            "work": self.work, "against": self.against, "unit": self.unit, "ours": summary(self.ours),
            "theirs": summary(self.theirs), "ratio": round(self.ratio, 3), "limit": self.limit, "met": self.is_met,
            "rounds": len(self.ours),
        }

    def cells(self):
        def shown(samples):
            return f"{number(statistics.median(samples))} ({number(min(samples))}–{number(max(samples))})"

        limit = "" if self.limit is None else f"{self.limit:g}"
        verdict = "" if self.limit is None else ("yes" if self.is_met else "NO")
        return [self.work, self.against, shown(self.ours), shown(self.theirs), self.unit, f"{self.ratio:.2f}", limit,
                verdict]


HEADS = ["work", "against", "ours", "theirs", "unit", "ratio", "at most", "met"]


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(results):
    rows = [HEADS] + [result.cells() for result in results]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def as_json(results):
    return json.dumps({"results": [result.dictionary() for result in results]}, indent=2)
