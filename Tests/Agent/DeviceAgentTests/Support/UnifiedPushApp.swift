import CommonTesting
import Foundation
import Notifications

@testable import DeviceAgent
@testable import ServiceTesting

/// An app of the desktop in Python, with other people's D-Bus: it owns a name, registers as it is told on its standard input, and prints
/// what it is told.
struct UnifiedPushApp: Sendable {
    let name: String
    let process: ChildProcess

    /// - Parameter version: 1 or 2, of UnifiedPush's interfaces.
    static func with(
        _ address: String,
        _ name: String,
        version: Int = 2,
        _ body: (UnifiedPushApp) async throws -> Void,
    ) async throws {
        try await ChildProcess.with(
            "/usr/bin/python3", ["-u", "-c", script, name, "\(version)"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": address], staysOpen: true
        ) { process in
            guard await process.output.nextLine() == "ready" else {
                throw AgentRig.Refused(status: 0, detail: "The app ended: \(process.errors.text)")
            }
            try await body(UnifiedPushApp(name: name, process: process))
        }
    }

    /// Registers, and returns the answer.
    func register(_ token: String, as service: String? = nil, vapid: String? = nil) async throws -> JSONValue {
        try await register(token, as: service, key: vapid.map { .string($0) })
    }

    /// Registers with a VAPID key of any type of the bus that Python makes of a JSON value.
    func register(_ token: String, as service: String? = nil, key: JSONValue?) async throws -> JSONValue {
        var order: [String: JSONValue] = [
            "order": "register", "token": .string(token), "service": .string(service ?? name),
        ]
        if let key { order["vapid"] = key }
        try tell(.object(order))
        return try await next()
    }

    func unregister(_ token: String) async throws -> JSONValue {
        try tell(["order": "unregister", "token": .string(token)])
        return try await next()
    }

    /// From now on the app answers messages, or does not.
    func answers(_ isAnswering: Bool) async throws {
        try tell(["order": "answers", "on": .bool(isAnswering)])
        _ = try await next()
    }

    private func tell(_ order: JSONValue) throws { try process.type(order.text + "\n") }

    /// What the app prints next: an answer, or a call that it has got.
    func next() async throws -> JSONValue {
        let line = try required(await process.output.nextLine())
        return try required(JSONValue(Array(line.utf8)))
    }

    /// A file for the bus that starts such an app for a name. What it is told is in the file `told` of the folder.
    static func makeActivatable(_ name: String, version: Int, in folder: String) throws {
        let services = folder + "/services"
        try FileManager.default.createDirectory(atPath: services, withIntermediateDirectories: true)
        try Data(script.utf8).write(to: URL(fileURLWithPath: folder + "/app.py"))
        let text = """
            [D-BUS Service]
            Name=\(name)
            Exec=/usr/bin/python3 -u \(folder)/app.py \(name) \(version) \(folder)/told

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: services + "/\(name).service"))
    }

    private static let script = """
        import json, sys
        import dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib

        NAME, VERSION = sys.argv[1], int(sys.argv[2])
        out = open(sys.argv[3], "a") if len(sys.argv) > 3 else sys.stdout
        TWO = "org.unifiedpush.Connector2"
        ONE = "org.unifiedpush.Connector1"
        state = {"on": True}

        def say(**what):
            print(json.dumps(what), file=out, flush=True)

        def plain(values):
            return {str(key): bytes(value).decode("latin-1") if isinstance(value, dbus.Array) else str(value)
                for key, value in values.items()}

        class Two(dbus.service.Object):
            @dbus.service.method(TWO, in_signature="a{sv}", out_signature="a{sv}")
            def NewEndpoint(self, args):
                say(call="NewEndpoint", **plain(args))
                return {}

            @dbus.service.method(TWO, in_signature="a{sv}", out_signature="a{sv}", async_callbacks=("answer", "fail"))
            def Message(self, args, answer, fail):
                say(call="Message", **plain(args))
                if state["on"]:
                    answer({"id": args["id"]})

            @dbus.service.method(TWO, in_signature="a{sv}", out_signature="a{sv}")
            def Unregistered(self, args):
                say(call="Unregistered", **plain(args))
                return {}

        class One(dbus.service.Object):
            @dbus.service.method(ONE, in_signature="ss", out_signature="")
            def NewEndpoint(self, token, endpoint):
                say(call="NewEndpoint", token=token, endpoint=endpoint)

            @dbus.service.method(ONE, in_signature="says", out_signature="")
            def Message(self, token, message, id):
                say(call="Message", token=token, message=bytes(message).decode("latin-1"), id=id)

            @dbus.service.method(ONE, in_signature="s", out_signature="")
            def Unregistered(self, token):
                say(call="Unregistered", token=token)

        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SessionBus()
        app = (Two if VERSION == 2 else One)(bus, "/org/unifiedpush/Connector")
        name = dbus.service.BusName(NAME, bus)
        loop = GLib.MainLoop()

        def call(method, signature, *args):
            def answered(*values):
                if VERSION == 2:
                    say(**plain(values[0]))
                else:
                    say(values=[str(value) for value in values])
            bus.call_async("org.unifiedpush.Distributor.Carillon", "/org/unifiedpush/Distributor",
                "org.unifiedpush.Distributor%d" % VERSION, method, signature, args, answered,
                lambda error: say(error=error.get_dbus_name()), timeout=60)

        def read(source, condition):
            line = orders.readline()
            if not line:
                loop.quit()
                return False
            order = json.loads(line)
            if order["order"] == "answers":
                state["on"] = order["on"]
                say()
            elif VERSION == 2:
                values = {key: value for key, value in order.items() if key != "order"}
                if order["order"] == "register":
                    values["description"] = "An app"
                    values["unknown"] = dbus.Struct((1, [dbus.Int64(2)]), signature="iax", variant_level=1)
                call(order["order"].capitalize(), "a{sv}", dbus.Dictionary(values, signature="sv"))
            elif order["order"] == "register":
                call("Register", "sss", order["service"], order["token"], "An app")
            else:
                call("Unregister", "s", order["token"])
            return True

        if out is sys.stdout:
            # Without a buffer, because GLib does not see lines that are in one.
            orders = open(0, "rb", buffering=0)
            GLib.io_add_watch(orders.fileno(), GLib.IO_IN | GLib.IO_HUP, read)
            print("ready", flush=True)
        bus.add_signal_receiver(loop.quit, "Disconnected", "org.freedesktop.DBus.Local")
        loop.run()
        """
}
