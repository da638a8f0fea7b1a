import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The devices in other languages, in Examples. They follow docs/device-protocol.md, and need nothing else.
@Suite(.service(), .timeLimit(.minutes(2))) struct ExampleDevicesTests {
    private static let examples = ["Examples/device-curl/device.sh", "Examples/device-python/device.py"]

    /// Runs an example until SIGTERM.
    private func run(_ example: String, in folder: String, _ body: (ChildProcess) async throws -> Void) async throws {
        let service = try CarillonProcess.current
        let courier = "https://\(try service.addresses(.development).courier)"
        let program = Repository.file(example).path
        try await ChildProcess.with(program, [courier, service.ready.ca, "com.example.app", folder]) { child in
            try await body(child)
            child.signal(SIGTERM)
            #expect(await child.finished().status == 0)
        }
    }

    private func token(_ child: ChildProcess) async throws -> String {
        try await child.output.nextLine().orThrow("the example ended: \(child.errors.text)")
    }

    @Test(arguments: examples)
    func `Activates registers receives and acknowledges`(_ example: String) async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            var token = ""
            try await run(example, in: folder + "/device") { child in
                token = try await self.token(child)
                #expect(try await service.send(alert: "Grüße", to: token).status == 200)
                try await child.expectNext(alert: "Grüße")
                // The second notification is sent when the first is acknowledged or stored; the next run shows which.
                #expect(try await service.send(alert: "Second", to: token).status == 200)
                try await child.expectNext(alert: "Second")
            }
            // The same device runs again. It does not get old notifications again, but those sent meanwhile.
            #expect(try await service.send(alert: "Stored", to: token).status == 200)
            try await run(example, in: folder + "/device") { child in
                #expect(try await self.token(child) == token)
                try await child.expectNext(alert: "Stored")
            }
        }
    }

    @Test(arguments: examples)
    func `Ends when it is taken over`(_ example: String) async throws {
        let service = try CarillonProcess.current
        let courier = "https://\(try service.addresses(.development).courier)"
        let program = Repository.root.appendingPathComponent(example).path
        try await withTemporaryFolder { folder in
            let arguments = [courier, service.ready.ca, "com.example.app", folder + "/device"]
            try await ChildProcess.with(program, arguments) { child in
                let token = try await self.token(child)
                #expect(try await service.send(alert: "First", to: token).status == 200)
                try await child.expectNext(alert: "First")
                let identity = folder + "/device/both.pem"
                let parts = ["device.key", "device.crt"].map { folder + "/device/" + $0 }
                let text = try parts.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
                try Data(text.utf8).write(to: URL(fileURLWithPath: identity))
                try await service.listen(as: identity) { _ in
                    #expect(await child.finished().status == 1)
                }
            }
        }
    }
}
