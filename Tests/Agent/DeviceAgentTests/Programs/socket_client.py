"""A command of an app that asks at the agent's sockets, and whose children do so too.

Each process writes a file of its name into FOLDER: a line with the status of each answer.

usage: socket_client.py FOLDER SOCKET OWN OTHER
  SOCKET  the agent's socket for everybody; the one for the app is in CARILLON_AGENT_SOCKET
  OWN     the path of the command's own app
  OTHER   the path of another app
"""

import os
import socket
import sys
import time

folder, all_socket, own, other = sys.argv[1:5]
sockets = [("all", all_socket), ("app", os.environ.get("CARILLON_AGENT_SOCKET", "none"))]
questions = [("PUT", own), ("PUT", other), ("GET", f"{other}/events"), ("GET", "/v1/settings")]


def ask(path, method, where):
    """Returns the status of the answer, or the name of what went wrong."""
    head = f"{method} {where} HTTP/1.1\r\nhost: agent\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        connection.sendall(head.encode())
        answer = b""
        while b"\r\n" not in answer:
            part = connection.recv(4096)
            if not part:
                return "closed"
            answer += part
        return answer.split()[1].decode()
    except OSError as error:
        return error.__class__.__name__


def report(name):
    """Asks all questions at both sockets. The file gets its name when it is complete."""
    lines = []
    for kind, path in sockets:
        for method, where in questions:
            lines.append(f"{name} {kind} {method} {where} {ask(path, method, where)}")
    with open(f"{folder}/{name}.new", "w") as file:
        file.write("\n".join(lines))
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def wait_for_orphan(parent):
    """Waits until the parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.01)


report("command")
child = os.fork()
if child == 0:
    report("child")
    os._exit(0)
os.waitpid(child, 0)

# An orphan in the command's session.
child = os.fork()
if child == 0:
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    wait_for_orphan(middle)
    report("orphan")
    os._exit(0)
os.waitpid(child, 0)

# One with a session of its own.
child = os.fork()
if child == 0:
    os.setsid()
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    wait_for_orphan(middle)
    os.setsid()
    report("daemon")
    os._exit(0)
os.waitpid(child, 0)

# One that goes on when the command has ended.
root = os.getpid()
if os.fork() == 0:
    # Until the agent has collected the command.
    while os.path.exists(f"/proc/{root}"):
        time.sleep(0.01)
    report("left")
    os._exit(0)
while not all(os.path.exists(f"{folder}/{name}") for name in ["orphan", "daemon"]):
    time.sleep(0.01)
