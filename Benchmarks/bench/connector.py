"""Measures the time from the POST of a message of Web Push to the D-Bus call `Message` of an app of the desktop: a service, an agent that is a
distributor of UnifiedPush, a session bus and an app with dbus-python. script/bench web-push runs this.

The clock is that of the machine, which both ends share. The agent stores a message before it hands it over, so the disk is a part of
the time."""

import http.client
import json
import os
import pathlib
import ssl
import subprocess
import time
import urllib.parse

from testing import report

MESSAGES = int(os.environ.get("MESSAGES", 300))
# The time before each message, in seconds: the one before is answered by then.
PAUSE = 0.03
BODY = bytes(250)
LIMIT = 5
SYSTEM_PYTHON = "/usr/bin/python3"

# The system's Python has dbus-python. It prints its endpoint, and then the time of each message.
APP = """
import time
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib

class App(dbus.service.Object):
    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def NewEndpoint(self, args):
        print(str(args["endpoint"]), flush=True)
        return {}

    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def Message(self, args):
        print(time.monotonic(), flush=True)
        return {"id": args["id"]}

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
app = App(bus, "/org/unifiedpush/Connector")
name = dbus.service.BusName("org.example.Bench", bus)
bus.call_async("org.unifiedpush.Distributor.Carillon", "/org/unifiedpush/Distributor", "org.unifiedpush.Distributor2", "Register",
    "a{sv}", (dbus.Dictionary({"service": "org.example.Bench", "token": "T1"}, signature="sv"),), lambda answer: None, print, timeout=60)
GLib.MainLoop().run()
"""


def is_possible():
    folder = pathlib.Path("/usr/lib/python3/dist-packages")
    return os.path.exists("/usr/bin/dbus-daemon") and all((folder / name / "__init__.py").exists() for name in ("dbus", "gi"))


def ready(process):
    """The first line that a program prints, as JSON."""
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"bench: {process.args[0]} ended: {process.wait()}")
    return json.loads(line) if line.startswith("{") else line


def measure(carillon, work):
    """Returns whether the median is within the limit."""
    if not is_possible():
        print("bench: no D-Bus here, so the time to a Connector's Message is not measured")
        return True
    folder = os.path.join(work, "connector")
    os.makedirs(os.path.join(folder, "apps.d"), mode=0o755)
    configuration = os.path.join(folder, "bus.conf")
    address = f"unix:path={folder}/bus"
    with open(configuration, "w") as file:
        file.write(f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
            "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>{address}</listen><auth>EXTERNAL</auth><policy context="default">
            <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>""")
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": address}
    running = []

    def start(*command, **more):
        running.append(subprocess.Popen(
            command, env=environment | more, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=open(os.path.join(folder, f"log-{len(running)}"), "w"), text=True))
        return running[-1]

    try:
        start("dbus-daemon", "--nofork", "--nosyslog", "--print-address=1", f"--config-file={configuration}").stdout.readline()
        service = ready(start(
            carillon, "serve", "--data", os.path.join(folder, "data"), "--ports", "ephemeral", "--environment", "development", "--json",
            "--web-push", "127.0.0.1:0", CARILLON_LIMIT_WEB_PUSH_ENDPOINT_RATE="0"))
        ready(start(
            carillon, "device", "agent", "--state", os.path.join(folder, "state"), "--socket", os.path.join(folder, "s"), "--service",
            f"https://{service['development']['courier']}", "--ca", service["ca"], "--apps", os.path.join(folder, "apps.d"), "--no-desktop",
            "--unifiedpush", "com.example.app", "--json"))
        app = start(SYSTEM_PYTHON, "-u", "-c", APP)
        endpoint = urllib.parse.urlsplit(ready(app).strip())
        sender = http.client.HTTPSConnection(endpoint.netloc, context=ssl.create_default_context(cafile=service["ca"]))
        times = []
        for number in range(MESSAGES + 20):
            time.sleep(PAUSE)
            began = time.monotonic()
            sender.request("POST", endpoint.path, BODY, {"TTL": "60", "Content-Encoding": "aes128gcm"})
            # The app has the message before the sender has its answer, or a little later.
            answer = sender.getresponse()
            answer.read()
            if answer.status != 201:
                raise SystemExit(f"bench: the endpoint answers {answer.status}")
            times.append((float(app.stdout.readline()) - began) * 1000)
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()
    # The first ones wait for connections and caches.
    return report("from POST to a Connector's Message, median", times[20:], "ms", LIMIT)
