import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon send --binary` and `carillon feedback`.
@Suite(.service(), .timeLimit(.minutes(2))) struct BinaryCommandTests {
    @Test func `The ready line names both ports of both environments`() throws {
        let line = try CarillonProcess.current.readyLine
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        for environment in ["development", "production"] {
            let addresses = try #require(object[environment] as? [String: String])
            #expect(Set(addresses.keys) == ["provider", "binary", "feedback", "courier", "channels"])
            #expect(Set(addresses.values).count == 4)
        }
    }

    @Test func `What is accepted is 200`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let token = try await service.register("com.example.app", on: service.activate())
            let sent = try await service.sendBinary(token, service.makeProviderCertificate(in: folder))
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(sent.output == #"{"status":200}"# + "\n")
        }
    }

    @Test(arguments: [
        (String(repeating: "0", count: 64), "Hello", 400, "BadDeviceToken"),
        ("0011", "Hello", 400, "BadDeviceToken"),
        (String(repeating: "0", count: 64), String(repeating: "x", count: 3000), 413, "PayloadTooLarge"),
    ])
    func `What is refused has the reason of the HTTP/2 API`(
        token: String, alert: String, status: Int, reason: String
    ) async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder)
            let sent = try await service.sendBinary(token, certificate, ["--alert", alert])
            #expect(sent.status == 1)
            #expect(sent.output == #"{"reason":"\#(reason)","status":\#(status)}"# + "\n")
        }
    }

    @Test func `A topic has no effect, and the sender is told so`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder)
            let sent = try await service.sendBinary(String(repeating: "0", count: 64), certificate)
            #expect(sent.errors.contains("--topic: the certificate determines"), "\(sent.errors)")
        }
    }

    @Test func `A certificate of the other environment is refused`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder, environment: "production")
            let sent = try await service.sendBinary(String(repeating: "0", count: 64), certificate)
            #expect(sent.status == 1 && sent.output.isEmpty && !sent.errors.isEmpty)
        }
    }

    @Test func `Feedback prints what was sent to after the app was removed and prints it once`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder)
            let identity = try await service.activate()
            let token = try await service.register("com.example.app", on: identity)
            let before = UInt64(Date().timeIntervalSince1970)
            _ = try await service.carillon(
                "device", "unregister", "--identity", identity, "--bundle-id", "com.example.app")
            #expect(try await service.sendBinary(token, certificate).status == 0)
            var lines: [String] = []
            // The list may have entries of other tests. Each entry is given to one reader only.
            let read = try await service.carillon("feedback", "--certificate", certificate)
            #expect(read.status == 0, "\(read.errors)")
            lines = read.output.split(separator: "\n").map(String.init).filter { $0.contains(token) }
            let line = try #require(lines.first)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(Set(object.keys) == ["token", "timestamp"])
            let timestamp = try #require(object["timestamp"] as? UInt64)
            #expect((before...UInt64(Date().timeIntervalSince1970)).contains(timestamp))
            #expect(lines.count == 1)
        }
    }

    @Test func `A reading a second is too many`() async throws {
        let finished = try await BuiltCommand.run(["feedback", "--certificate", "a", "--every", "0.0001"])
        #expect(finished.status == 64 && finished.errors.contains("--every"))
    }
}
