import CommonTesting
import Foundation
import Notifications

@testable import ServiceTesting

/// A session bus (`dbus-daemon`) with a notification service in Python, which other people's libraries make: python3-dbus and
/// GLib. The service prints each call as a line of JSON, and sends the signals that it reads from its standard input.
struct DesktopSession: Sendable {
    static let isPossible =
        ChildProcess.isInstalled("dbus-daemon")
        && ["dbus", "gi"].allSatisfy {
            FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/\($0)/__init__.py")
        }

    let address: String
    let service: ChildProcess

    /// - Parameter folder: its folder `services` may have files of names that the bus can activate.
    static func run(_ folder: String, _ body: (DesktopSession) async throws -> Void) async throws {
        try await runBus(folder) { address in
            try await ChildProcess.with(
                "/usr/bin/python3", ["-u", "-c", script], environment: ["DBUS_SESSION_BUS_ADDRESS": address],
                staysOpen: true
            ) { service in
                guard await service.output.nextLine() == "ready" else {
                    throw AgentRig.Refused(status: 0, detail: "The service ended: \(service.errors.text)")
                }
                try await body(DesktopSession(address: address, service: service))
            }
        }
    }

    /// Runs a bus without a notification service.
    /// - Parameter body: gets the address of the bus.
    static func runBus(_ folder: String, _ body: (String) async throws -> Void) async throws {
        let address = "unix:path=\(folder)/bus"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
            <servicedir>\(folder)/services</servicedir>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/bus.conf"))
        try await ChildProcess.with(
            "dbus-daemon", ["--nofork", "--nosyslog", "--print-address=1", "--config-file=\(folder)/bus.conf"]
        ) { bus in
            guard await bus.output.nextLine() != nil else {
                throw AgentRig.Refused(status: 0, detail: "dbus-daemon ended: \(bus.errors.text)")
            }
            try await body(address)
        }
    }

    /// The next call of the notification service.
    func nextCall() async throws -> JSONValue {
        let line = try required(await service.output.nextLine())
        return try required(JSONValue(Array(line.utf8)))
    }

    func signal(_ name: String, _ number: Int64, _ argument: JSONValue) throws {
        let line: JSONValue = ["signal": .string(name), "number": .integer(number), "argument": argument]
        try service.type(line.text + "\n")
    }

    /// Answers the call that shows a notification with the body `held`.
    func answer() throws { try service.type("{}\n") }

    private static let script = """
        import json, sys
        import dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib

        NAME = "org.freedesktop.Notifications"

        class Service(dbus.service.Object):
            last = 0

            @dbus.service.method(NAME, in_signature="", out_signature="as")
            def GetCapabilities(self):
                return ["body", "body-markup", "actions"]

            @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u", async_callbacks=("answer", "fail"))
            def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout, answer, fail):
                if not replaces:
                    Service.last += 1
                number = int(replaces) or Service.last
                print(json.dumps({"call": "Notify", "number": number, "app": app, "replaces": int(replaces), "icon": icon,
                    "summary": summary, "body": body, "actions": list(actions), "timeout": int(timeout),
                    "urgency": int(hints["urgency"]), "silent": bool(hints.get("suppress-sound", False)),
                    "sound": str(hints.get("sound-name", "")), "soundFile": str(hints.get("sound-file", "")),
                    "image": str(hints.get("image-path", "")), "entry": str(hints.get("desktop-entry", "")),
                    "thread": str(hints.get("x-carillon-thread-id", ""))}), flush=True)
                if body == "held":
                    Service.held = lambda: answer(dbus.UInt32(number))
                else:
                    answer(dbus.UInt32(number))

            @dbus.service.method(NAME, in_signature="u", out_signature="")
            def CloseNotification(self, number):
                print(json.dumps({"call": "CloseNotification", "number": int(number)}), flush=True)
                self.NotificationClosed(number, 3)

            @dbus.service.signal(NAME, signature="uu")
            def NotificationClosed(self, number, reason): pass

            @dbus.service.signal(NAME, signature="us")
            def ActionInvoked(self, number, action): pass

        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SessionBus()
        name = dbus.service.BusName(NAME, bus)
        service = Service(bus, "/org/freedesktop/Notifications")

        def badge(app, values):
            print(json.dumps({"call": "Update", "app": app, "count": int(values["count"]),
                "visible": bool(values["count-visible"])}), flush=True)

        bus.add_signal_receiver(badge, "Update", "com.canonical.Unity.LauncherEntry")

        def read(source, condition):
            line = orders.readline()
            if not line:
                loop.quit()
                return False
            order = json.loads(line)
            if "signal" not in order:
                Service.held()
                return True
            getattr(service, order["signal"])(dbus.UInt32(order["number"]),
                order["argument"] if isinstance(order["argument"], str) else dbus.UInt32(order["argument"]))
            return True

        # Without a buffer, because GLib does not see lines that are in one.
        orders = open(0, "rb", buffering=0)
        loop = GLib.MainLoop()
        GLib.io_add_watch(orders.fileno(), GLib.IO_IN | GLib.IO_HUP, read)
        print("ready", flush=True)
        loop.run()
        """
}
