"""An app of the desktop that gets Web Push from whichever distributor has the name below. It registers, and prints each call of the
distributor as a line of JSON. test_unifiedpush.py starts it with the system's Python.

usage: unifiedpush_app.py BUS-NAME VERSION"""

import base64
import json
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME, VERSION = sys.argv[1], int(sys.argv[2])
TOKEN = "token of " + NAME
CONNECTOR = f"org.unifiedpush.Connector{VERSION}"
DISTRIBUTOR = "org.unifiedpush.Distributor.Carillon", "/org/unifiedpush/Distributor", f"org.unifiedpush.Distributor{VERSION}"


def say(call, **arguments):
    print(json.dumps({"call": call} | arguments), flush=True)


def text(message):
    return base64.b64encode(bytes(message)).decode()


class Two(dbus.service.Object):
    @dbus.service.method(CONNECTOR, in_signature="a{sv}", out_signature="a{sv}")
    def NewEndpoint(self, values):
        say("NewEndpoint", token=str(values["token"]), endpoint=str(values["endpoint"]))
        return {}

    @dbus.service.method(CONNECTOR, in_signature="a{sv}", out_signature="a{sv}")
    def Message(self, values):
        say("Message", token=str(values["token"]), message=text(values["message"]))
        # The app has the message when it answers its identifier.
        return {"id": values["id"]}


class One(dbus.service.Object):
    @dbus.service.method(CONNECTOR, in_signature="ss", out_signature="")
    def NewEndpoint(self, token, endpoint):
        say("NewEndpoint", token=str(token), endpoint=str(endpoint))

    @dbus.service.method(CONNECTOR, in_signature="says", out_signature="")
    def Message(self, token, message, identifier):
        say("Message", token=str(token), message=text(message))


def register(bus):
    arguments = [NAME, TOKEN, "A test"]
    if VERSION == 2:
        arguments = [dbus.Dictionary({"service": NAME, "token": TOKEN}, signature="sv")]
    bus.call_async(
        *DISTRIBUTOR, "Register", "a{sv}" if VERSION == 2 else "sss", arguments, registered,
        lambda error: say("error", text=str(error)), timeout=60)


def registered(*answer):
    """The endpoint comes with a call of its own, before the answer or afterwards."""
    if str(answer[0]["success"] if VERSION == 2 else answer[0]) not in ("REGISTRATION_SUCCEEDED", "NEW_ENDPOINT"):
        say("refused", answer=str(answer))


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
session = dbus.SessionBus()
app = {1: One, 2: Two}[VERSION](session, "/org/unifiedpush/Connector")
name = dbus.service.BusName(NAME, session)
register(session)
GLib.MainLoop().run()
