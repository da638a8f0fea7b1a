"""Runs the shell blocks of a document, one after the other in one shell, in a folder of their own."""

import getpass
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import running
from blocks import ROOT, blocks_of
from plan import PLANS

sys.path.append(str(ROOT / "Tests/Nodes"))

from database import Server  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# A block that hangs fails the test, and not the whole run. No block takes a tenth of this, even on a busy machine.
PATIENCE = 300
# A shell that stops at the first command that fails. `stop` ends what runs in the background.
BEGIN = """
set -e
run() {
    echo "$1" >"$STATE/block"
    python3 "$RUNNING/running.py" "$STATE/$1" "$STATE/replacements.json" >"$STATE/$1.run"
    . "$STATE/$1.run"
}
stop() { python3 "$RUNNING/runner.py" TERM "$@"; }
lose() { python3 "$RUNNING/runner.py" KILL "$@"; }
"""


class BlockFailed(Exception):
    pass


def stop(kind="TERM", name=""):
    """Ends what goes on in the background: all, or the services with this in their names."""
    running.end([each["process"] for each in running.remembered() if name in (each["service"] or "")], signal.Signals[f"SIG{kind}"])


def script(document, state):
    """The text that the shell runs. Each block is in a file, and so is what runs before it."""
    plan, lines = PLANS[document], [BEGIN]
    lines += [f"{command}() {{ :; }}" for command in plan.without]
    if plan.stays:
        lines.append("export STAY=1")

    def add(name, text):
        (state / name).write_text(text)
        lines.append(f"run {name}")

    def add_lines(name, text):
        # Each line gets the addresses of what the one before has started.
        for number, line in enumerate(text.splitlines(keepends=True)):
            add(f"{name}-{number}", line)

    add_lines("prepare", plan.prepare)
    for block in blocks_to_run(document):
        add_lines(f"before-{block.line}", plan.before.get(block.first_line, ""))
        add(f"block-{block.line}", block.text)
        add_lines(f"after-{block.line}", plan.after.get(block.first_line, ""))
    return "\n".join(lines) + "\n"


def blocks_to_run(document):
    skipped = PLANS[document].skipped
    return [each for each in blocks_of(document) if each.language == "sh" and "*" not in skipped and each.first_line not in skipped]


def run(document, command):
    plan = PLANS[document]
    with tempfile.TemporaryDirectory() as scratch:
        work, state = pathlib.Path(scratch, "work"), pathlib.Path(scratch, "state")
        work.mkdir()
        state.mkdir()
        running.STATE = state
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CARILLON", "PG"))},
            "PATH": f"{HERE / 'commands'}:{os.environ['PATH']}", "HOME": str(work), "CARILLON": command, "STATE": str(state),
            "RUNNING": str(HERE), "ROOT": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
        }
        server = None
        replacements = {name: text.replace("USER_NAME", getpass.getuser()) for name, text in plan.replace.items()}
        try:
            if plan.postgres:
                # PostgreSQL's user has to reach its folder.
                os.chmod(scratch, 0o755)
                server = Server(pathlib.Path(scratch, "postgres"), dict(os.environ))
                server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "--no-sync")
                server.start()
                while subprocess.run([*server.prefix, "pg_isready", "-q", "-h", server.folder], env=server.environment).returncode:
                    pass
                environment |= {"PATH": f"{HERE / 'commands'}:{server.environment['PATH']}", "PGHOST": str(server.folder)}
                # In a URL, the folder of a socket is written with escapes.
                replacements |= {
                    "@db.example.com": "@" + str(server.folder).replace("/", "%2F"), "--host db.example.com": f"--host {server.folder}"}
            (state / "replacements.json").write_text(json.dumps(replacements))
            finished = subprocess.run(
                ["bash", "-c", script(document, state)], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE)
            if finished.returncode:
                block = (state / "block").read_text().strip() if (state / "block").exists() else "the start"
                text = (state / f"{block}.run").read_text() if (state / f"{block}.run").exists() else ""
                raise BlockFailed(f"{document}, {block}, exit status {finished.returncode}:\n{text}\n{finished.stdout[-4000:]}")
            return finished.stdout
        finally:
            stop()
            if server:
                server.end()


if __name__ == "__main__":
    stop(*sys.argv[1:])
