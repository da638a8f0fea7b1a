"""The fenced blocks of the documents."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The articles of the libraries are not among them: tests of the libraries compile their examples.
DOCUMENTS = ["*.md", "docs/*.md", "Site/index.md", "Examples/**/*.md", "Clients/**/*.md"]
FENCE = re.compile(r"^( *)```(\S*) *$")


@dataclasses.dataclass
class Block:
    document: str
    line: int
    language: str
    text: str

    @property
    def first_line(self):
        return self.text.split("\n", 1)[0]

    def __str__(self):
        return f"{self.document}:{self.line}: {self.first_line}"


def documents():
    """The paths of all documents, without those in folders that hold other people's packages."""
    found = {path for pattern in DOCUMENTS for path in ROOT.glob(pattern)}
    paths = {path.relative_to(ROOT) for path in found}
    return sorted(path.as_posix() for path in paths if "node_modules" not in path.parts)


def blocks_of(document):
    """The blocks of a document, in their order."""
    found, opened, lines = [], None, []
    for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, lines = (number, fence), []
        elif opened is not None and fence and not fence[2]:
            indent = len(opened[1][1])
            text = "\n".join(each[indent:] for each in lines) + "\n"
            found.append(Block(document, opened[0], opened[1][2], text))
            opened = None
        elif opened is not None:
            lines.append(line)
    return found
