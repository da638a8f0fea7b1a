"""What MkDocs calls while it makes the site."""

import re


# What neoteroi-mkdocs says below each example of an OpenAPI page.
EXAMPLE = "This example has been generated automatically from the schema and it is not accurate. Refer to the schema for more information."


def on_post_page(output, **_):
    """Says of the OpenAPI pages' examples what they are. DocC's pages know themselves by the address of their folder, but MkDocs checks only
    links to files."""
    output = output.replace(EXAMPLE, "The shape of the body, with the types of its values. The schema says what they mean.")
    return re.sub(r'(href="[^"]*libraries/[^"]*/)index\.html"', r'\1"', output)
