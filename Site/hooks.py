"""What MkDocs calls while it makes the site."""

import re


def on_post_page(output, **_):
    """DocC's pages know themselves by the address of their folder. MkDocs checks only links to files."""
    return re.sub(r'(href="[^"]*libraries/[^"]*/)index\.html"', r'\1"', output)
