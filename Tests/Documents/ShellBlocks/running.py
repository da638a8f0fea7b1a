"""What the commands in `commands` do. The folder STATE has what they share: the addresses of the services that were started, and the
processes that go on in the background."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

STATE = pathlib.Path(os.environ.get("STATE", "."))
# Options with an address of the machine.
ADDRESSES = ("--management", "--management-tls", "--listen")


def real(program):
    """The program itself, which comes after `commands` on the path."""
    own = os.path.realpath(os.path.join(os.path.dirname(__file__), "commands"))
    path = [each for each in os.environ["PATH"].split(os.pathsep) if os.path.realpath(each) != own]
    return shutil.which(program, path=os.pathsep.join(path))


def carillon(arguments):
    program = os.environ["CARILLON"]
    if arguments[:1] == ["serve"] or arguments[:2] == ["provider", "serve"]:
        serve(program, arguments)
    elif arguments[:2] == ["device", "agent"] and "--state" in arguments:
        socket = pathlib.Path(arguments[arguments.index("--socket") + 1])
        background([program, *arguments], lambda *_: socket.exists())
    # With --as-app, the user's keys end it.
    elif arguments[:2] == ["device", "listen"] and "--as-app" not in arguments or arguments[:1] == ["log"] and "--follow" in arguments:
        background([program, *arguments])
    else:
        os.execv(program, [program, *arguments])


def curl(arguments):
    command = [real("curl"), "-q", "-sS", "--fail-with-body", "--noproxy", "*", *arguments]
    if "-N" in arguments:
        # The headers of the answer come at once, but its first line only when there is something to say.
        background([*command, "-v"], lambda output, errors: "\n< HTTP/" in "\n" + errors)
    else:
        os.execv(command[0], command)


def remember(process, service=None):
    with open(STATE / "processes", "a") as file:
        file.write(json.dumps({"process": process, "service": service}) + "\n")


def remembered():
    path = STATE / "processes"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_alive(process):
    """Whether a process runs. A child that nobody awaits counts as ended."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def end(processes, kind=signal.SIGTERM):
    """Ends processes as a user does, or loses them (SIGKILL), and waits for them."""
    for process in filter(is_alive, processes):
        os.kill(process, kind)
    for process in processes:
        while is_alive(process):
            time.sleep(0.05)


def started(command, service=None):
    """Starts a process that goes on after the command that started it: the process, and the file with its output."""
    number = len(remembered())
    output = STATE / f"output-{number}"
    with open(output, "w") as out, open(STATE / f"errors-{number}", "w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
    remember(process.pid, service)
    return process, output, STATE / f"errors-{number}"


def has_line(output, _):
    return "\n" in output


def await_ready(process, output, errors, is_ready=has_line):
    """Waits until the process is ready by what it has printed. If it has ended, so does this command."""
    while not is_ready(output.read_text(), errors.read_text()):
        if process.poll() is not None:
            sys.stderr.write(errors.read_text())
            sys.exit(process.returncode)
        time.sleep(0.05)


def background(command, is_ready=has_line):
    process, output, errors = started(command)
    await_ready(process, output, errors, is_ready)
    sys.stdout.write(output.read_text())


def serve(program, arguments):
    is_provider = arguments[0] == "provider"
    given = list(arguments)
    for option in ADDRESSES:
        if option in given:
            given[given.index(option) + 1] = "127.0.0.1:0"
    if is_provider:
        given += [] if "--listen" in given else ["--listen", "127.0.0.1:0"]
    else:
        for option in ("--ports", "--host"):
            if option in given:
                del given[given.index(option):given.index(option) + 2]
        given += ["--ports", "ephemeral"]
    given += [] if "--json" in given else ["--json"]
    if os.environ.get("STAY"):
        # The block ends the service itself.
        remember(os.getpid())
        os.execv(program, [program, *given])
    default = "carillon-provider-data" if is_provider else "carillon-data"
    folder = os.path.realpath(given[given.index("--data") + 1] if "--data" in given else default)
    name = None if "memory" in given else f"{'provider' if is_provider else 'service'} {folder}"
    # A second service on the same folder takes the place of the first one.
    end([each["process"] for each in remembered() if name and each["service"] == name])
    process, output, errors = started([program, *given], name)
    await_ready(process, output, errors)
    ready = json.loads(output.read_text().splitlines()[0])
    (STATE / "addresses.json").write_text(json.dumps(provider_addresses(ready) if is_provider else addresses(ready)))
    if "--json" in arguments:
        print(json.dumps(ready))


def provider_addresses(ready):
    found = json.loads((STATE / "addresses.json").read_text()) if (STATE / "addresses.json").exists() else {}
    return {**found, "http://127.0.0.1:2190": ready["url"], "https://push.example.com/v1": ready["url"] + "/v1"}


def addresses(ready):
    """The addresses that documents name, and those of the service that was started last."""
    found = {"http://127.0.0.1:2198": ready["management"]["url"]}
    for environment, offset in (("development", 0), ("production", 10_000)):
        for name, port in (("provider", 2197), ("channels", 2195), ("feedback", 2196), ("courier", 5223)):
            address = ready.get(environment, {}).get(name)
            if address:
                found[f"127.0.0.1:{port + offset}"] = found[f"push.example.com:{port + offset}"] = address
    description = json.loads(pathlib.Path(ready["management"].get("keyFile", ready["ca"])).with_name("service.json").read_text())
    if "managementTLS" in description:
        found["push.example.com:2199"] = description["managementTLS"]
    return found


def substitute(text, replacements):
    """The text of a block with the addresses of the services that run, and with what the plan replaces."""
    path = STATE / "addresses.json"
    known = {**replacements, **(json.loads(path.read_text()) if path.exists() else {})}
    if not known:
        return text
    # A port does not end in the middle of a number.
    pattern = "|".join(re.escape(key) + (r"(?!\d)" if key[-1].isdigit() else "") for key in sorted(known, key=len, reverse=True))
    return re.sub(pattern, lambda found: known[found[0]], text)


if __name__ == "__main__":
    sys.stdout.write(substitute(pathlib.Path(sys.argv[1]).read_text(), json.loads(pathlib.Path(sys.argv[2]).read_text())))
