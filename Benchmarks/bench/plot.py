"""Draws curves as an SVG, each in its own panel: memory as a line with points, CPU as a dashed line."""

WIDTH, HEIGHT, MARGIN = 380, 260, 56
MEMORY, CPU = "#1f5f99", "#b3541e"


def write_plot(all_series, path):
    panels = "".join(panel(series, number * WIDTH) for number, series in enumerate(all_series))
    with open(path, "w") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(all_series)}" height="{HEIGHT}" '
            f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>{panels}</svg>\n'
        )


def panel(series, left):
    points = series.points
    widest = max(point["count"] for point in points)
    return "".join([
        f'<g transform="translate({left},0)">',
        f'<path d="M{MARGIN} 24V{HEIGHT - MARGIN}H{WIDTH - MARGIN}" fill="none" stroke="#444"/>',
        line(points, "memory", widest, MEMORY, ""),
        line(points, "cpu", widest, CPU, "4 3"),
        text(WIDTH / 2, HEIGHT - 18, series.things, "#222"),
        text(WIDTH - MARGIN, HEIGHT - MARGIN + 16, f"{widest:,}", "#444"),
        text(MARGIN, HEIGHT - MARGIN + 16, "0", "#444"),
        text(MARGIN + 4, 16, f"memory, top {max(p['memory'] for p in points) / 1e6:,.0f} MB", MEMORY, "start"),
        text(WIDTH - MARGIN, 16, f"CPU, top {max(p['cpu'] for p in points):.2f} s/100k", CPU, "end"),
        "</g>",
    ])


def line(points, key, widest, colour, dashes):
    highest = max(point[key] for point in points) or 1
    spots = [
        (MARGIN + point["count"] / widest * (WIDTH - 2 * MARGIN),
         HEIGHT - MARGIN - point[key] / highest * (HEIGHT - MARGIN - 28))
        for point in points
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in spots)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>{dots}'


def text(x, y, content, colour, anchor="middle"):
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}">{content}</text>'
