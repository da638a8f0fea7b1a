"""A Linux desktop: a session bus of its own, the device agent as a distributor of UnifiedPush, and apps that are told what comes."""

import json
import os
import pathlib
import subprocess
import threading

# dbus-python and GLib come from the system's packages, so the system's Python runs the apps.
PYTHON = "/usr/bin/python3"
PACKAGES = pathlib.Path("/usr/lib/python3/dist-packages")
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
    "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>{address}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"""


def is_possible():
    return os.path.exists("/usr/bin/dbus-daemon") and all((PACKAGES / name).exists() for name in ("dbus", "gi"))


class Desktop:
    """The bus and the agent. Whatever runs here ends with it."""

    def __init__(self, folder, service, bundle_id):
        self.folder, self.running = folder, []
        (folder / "apps.d").mkdir(mode=0o755)
        address = f"unix:path={folder}/bus"
        (folder / "bus.conf").write_text(BUS.format(address=address))
        self.environment = os.environ | {"DBUS_SESSION_BUS_ADDRESS": address}
        try:
            bus = self.start("dbus-daemon", "--nofork", "--nosyslog", "--print-address=1", f"--config-file={folder}/bus.conf")
            bus.stdout.readline()
            agent = self.start(
                os.environ.get("CARILLON", "carillon"), "device", "agent", "--state", folder / "state", "--socket", folder / "s",
                "--service", f"https://{service.ready['development']['courier']}", "--ca", service.ready["ca"], "--apps",
                folder / "apps.d", "--no-desktop", "--unifiedpush", bundle_id, "--json")
            assert agent.stdout.readline(), "the agent has ended"
        except BaseException:
            self.close()
            raise

    def start(self, *command):
        log = open(self.folder / f"log-{len(self.running)}", "w")
        with log:
            process = subprocess.Popen(
                list(map(str, command)), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        self.running.append(process)
        return process

    def app(self, name, version):
        """Starts an app that registers once."""
        return App(self.start(PYTHON, "-u", pathlib.Path(__file__).with_name("unifiedpush_app.py"), name, version))

    def close(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait()


class App:
    # What does not come within these seconds does not come at all.
    PATIENCE = 30

    def __init__(self, process):
        self.process = process

    def told(self, call):
        """Waits for the next call that the distributor makes, which has to be this one, and returns its arguments."""
        ending = threading.Timer(self.PATIENCE, self.process.kill)
        ending.start()
        line = self.process.stdout.readline()
        ending.cancel()
        assert line, f"the app has ended, or there was no {call}"
        told = json.loads(line)
        assert told.pop("call") == call, told
        return told
