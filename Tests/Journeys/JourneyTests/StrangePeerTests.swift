import CommonTesting
import Foundation
import NIOCore
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Peers that speak another protocol or nothing: they are closed in time, rarely logged, and do not disturb others.
@Suite(
    .service(environment: [
        "CARILLON_LIMIT_HANDSHAKE_TIMEOUT": "1"
    ]), .timeLimit(.minutes(2)))
struct StrangePeerTests {
    enum Listener: String, CaseIterable, Sendable {
        case provider
        case courier

        func address(of service: CarillonProcess) throws -> String {
            switch self {
            case .provider: try service.addresses(.development).provider
            case .courier: try service.addresses(.development).courier
            }
        }
    }

    @Test(arguments: StrangePeer.all, Listener.allCases)
    func `Is closed`(peer: StrangePeer, listener: Listener) async throws {
        let service = try CarillonProcess.current
        let (channel, _) = try await peer.connect(to: try listener.address(of: service))
        try? await channel.closeFuture.get()  // Only that it ended matters.
        // This request is answered after everything that the end of the connection causes.
        #expect(try await service.device("PUT", "/1/apps/com.example.app", as: nil).status == 403)
    }

    /// The log has one line for each failure, but not so many that somebody could fill the disk.
    @Test(arguments: Listener.allCases)
    func `Is logged now and then`(listener: Listener) async throws {
        let environment = ["CARILLON_LIMIT_HANDSHAKE_TIMEOUT": "1"]
        try await CarillonProcess.with(environment: environment) { service in
            let count = 40
            let peer = try #require(StrangePeer.all.first { $0.testDescription == "silence" })
            var channels: [any Channel] = []
            for _ in 0..<count {
                channels.append(try await peer.connect(to: try listener.address(of: service)).channel)
            }
            for channel in channels { try? await channel.closeFuture.get() }
            let message = "A TLS handshake took too long"
            await service.child.errors.wait(for: message)
            _ = await service.stop()
            let lines = service.child.errors.text.split(separator: "\n").filter { $0.contains(message) }
            // The log has five such lines, and a few more on a slow machine.
            #expect(lines.count < count / 2, "\(lines.joined(separator: "\n"))")
            #expect(lines.allSatisfy { $0.contains("peer=127.0.0.1 ") || $0.hasSuffix("peer=127.0.0.1") })
        }
    }

    @Test(arguments: Listener.allCases)
    func `Others are served meanwhile`(listener: Listener) async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register("com.example.app", on: identity)
        var channels: [any Channel] = []
        for _ in 0..<10 {
            for peer in StrangePeer.all {
                channels.append(try await peer.connect(to: try listener.address(of: service)).channel)
            }
        }
        try await service.listen(as: identity) { device in
            let answer = try await service.send(alert: "Meanwhile", to: token)
            #expect(answer.status == 200)
            try await device.expectNext(alert: "Meanwhile")
        }
        for channel in channels { try? await channel.closeFuture.get() }  // That it ended, not how.
    }

    @Test(arguments: Listener.allCases)
    func `Curl with HTTP 1 is not served`(listener: Listener) async throws {
        let service = try CarillonProcess.current
        let finished = try await ChildProcess.run(
            "curl",
            ["-q", "-sS", "--noproxy", "*", "--http1.1", "--max-time", "30", "--cacert", service.ready.ca]
                + ["https://\(try listener.address(of: service))/"])
        #expect(finished.status != 0)
        #expect(finished.status != 28, "it was kept waiting")
        #expect(finished.output.isEmpty)
    }

    @Test func `A certificate of another authority is refused in the handshake`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let made = try await ChildProcess.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=device", "-keyout", "key.pem", "-out", "certificate.pem", "-days", "2",
                ], folder: folder)
            try #require(made.status == 0, "\(made.errors)")
            let identity = folder + "/identity.pem"
            let parts = try ["key.pem", "certificate.pem"].map { name in
                try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            try (parts[0] + parts[1]).write(to: URL(fileURLWithPath: identity))
            await #expect(throws: UnexpectedOutput.self) {
                try await service.device("PUT", "/1/apps/com.example.app", as: identity)
            }
        }
    }
}
