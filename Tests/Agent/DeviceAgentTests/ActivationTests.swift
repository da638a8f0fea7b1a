import CommonTesting
import Foundation
import Testing

@testable import DeviceAgent

/// How apps of other users are started.
@Suite(.startsPrograms, .timeLimit(.minutes(1))) struct ActivationTests {
    private struct Names: AccountNames {
        func user(_ name: String) -> UInt32? { 1001 }
        func group(_ name: String) -> UInt32? { nil }
    }

    private func manifest(_ members: String) throws -> Manifest {
        let text = #"{"bundleID":"com.example.kiosk","user":"kiosk",\#(members)}"#
        return try Manifest(Array(text.utf8), names: Names(), agentUser: 0)
    }

    @Test func `A unit is started by systemctl, of the system or of the user who has logged in`() throws {
        let manifest = try manifest(#""unit":"kiosk@1.service""#)
        let words = ["--no-ask-password", "--no-block", "start", "--", "kiosk@1.service"]
        #expect(Activation.command(for: manifest, isSystem: true) == ["systemctl", "--system"] + words)
        #expect(Activation.command(for: manifest, isSystem: false) == ["systemctl", "--user"] + words)
    }

    @Test(
        .enabled(
            if: DesktopSession.isPossible && ChildProcess.isInstalled("busctl"),
            "it needs dbus, python3-dbus, python3-gi and systemd's busctl"))
    func `A name of D-Bus is activated on a real bus`() async throws {
        try await withAgentFolder { folder in
            let started = folder + "/started"
            let script = """
                import dbus
                open("\(started)", "w").close()
                dbus.SessionBus().request_name("com.example.Kiosk")
                """
            try FileManager.default.createDirectory(
                atPath: folder + "/services", withIntermediateDirectories: true)
            try AgentRig.write(script, to: folder + "/app.py")
            try AgentRig.write(
                "[D-BUS Service]\nName=com.example.Kiosk\nExec=/usr/bin/python3 \(folder)/app.py\n",
                to: folder + "/services/com.example.Kiosk.service")
            try await DesktopSession.run(folder) { session in
                func activate(_ name: String) async throws -> Program.End {
                    let command = Activation.command(
                        for: try manifest(#""dbus":"\#(name)""#), isSystem: false)
                    let environment = ["PATH": "/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": session.address]
                    return await Program.run(command, environment: environment, input: [], limit: .seconds(50))
                }
                let end = try await activate("com.example.Kiosk")
                #expect(end == .exited(0))
                #expect(FileManager.default.fileExists(atPath: started))
                #expect(try await activate("com.example.Missing") == .exited(1))
            }
        }
    }
}
