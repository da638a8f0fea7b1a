"""What MkDocs calls while it makes the site."""

import re


# What neoteroi-mkdocs says below each example of an OpenAPI page.
EXAMPLE = "This example has been generated automatically from the schema and it is not accurate. Refer to the schema for more information."

# An operation of an OpenAPI page: its heading, its first paragraph, which the heading of the answers may have got into, and the rest.
OPERATION = re.compile(
    r'(<h3 id="[^"]*"><span class="http-\w+">.*?</h3>\n<p>.*?)(</p>\n|(?=<p class="responses-title">))(.*?)(?=<hr class="operation-separator" />|<hr />\n<h2)',
    re.DOTALL)

# A schema, behind all operations.
SCHEMA = re.compile(r'(<h3 id="[^"]*">[^<]*<a class="headerlink".*?</h3>\n)(<table>.*?</table>\n)', re.DOTALL)

# The example and the schema of a refusal's body.
PROBLEM = re.compile(r'>application/problem\+json</label></div>\n<div class="tabbed-content">\n<div class="tabbed-block">\n(.*?</details>)', re.DOTALL)


def on_post_page(output, page, **_):
    """Says of the OpenAPI pages' examples what they are, and folds their operations. DocC's pages know themselves by the address of their
    folder, but MkDocs checks only links to files."""
    if page.file.src_uri.startswith("api/"):
        output = folded(output.replace(EXAMPLE, "The shape of the body, with the types of its values. The schema says what they mean."))
    return re.sub(r'(href="[^"]*libraries/[^"]*/)index\.html"', r'\1"', output)


def folded(output):
    """An OpenAPI page of which a reader sees the operations at first, each with one sentence, and the schemas' names. Refusals have one
    schema, which is shown once."""
    if problem := PROBLEM.search(output):
        output = output.replace(problem[1], '<p>A <a href="#problem">Problem</a> that says what was wrong.</p>')
    output = OPERATION.sub(r'\1</p>\n<details class="operation">\n<summary>Request and answers</summary>\n\3</details>\n', output)
    return SCHEMA.sub(r'\1<details class="operation">\n<summary>Members</summary>\n\2</details>\n', output)
