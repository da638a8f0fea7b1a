import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The numbers of attempts (`sending`) over several starts of a whole service (docs/device-protocol.md), over the
/// wire.
@Suite(.timeLimit(.minutes(2))) struct RestartWithEarlierClockTests {
    private func headers(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }

    /// Connects the device, sends it a notification, and returns the notification's `sending`.
    private func sending(to certificate: ClientCertificate, of test: TestService) async throws -> UInt64 {
        let client = try await test.connectCourier(certificate)
        let registered = try await client.send(headers("PUT", "/1/apps/com.example.app"), body: "")
        let token = try required(registered.body.split(separator: "\"").dropFirst(3).first.map(String.init))
        let provider = try await test.connectProvider()
        let answer = try await provider.send(ProviderHeaders(token, token: test.providerToken()).fields)
        #expect(answer.status == 200)
        let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
        var found: UInt64?
        while found == nil, let line = try await stream.nextLine() {
            found = line.firstMatch(of: /"sending":([0-9]+)/).flatMap { UInt64($0.1) }
        }
        // The notification is not acknowledged, so the next start sends it again.
        await provider.close()
        await client.close()
        return try required(found)
    }

    @Test func `After a restart with a clock that is 22 hours behind, attempts still have greater numbers`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var certificate: ClientCertificate?
        var sendings: [UInt64] = []
        // An advance lasts only until the service ends, so the second service has the machine's time again.
        for advance in ["PT22H", nil] {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.clock = .virtual
            } _: { test in
                if let advance {
                    let answer = try await test.ask("POST", "/v1/clock", body: #"{"advance":"\#(advance)"}"#)
                    #expect(answer.status == 200)
                }
                if certificate == nil { certificate = try await test.makeDeviceCertificate() }
                sendings.append(try await sending(to: try required(certificate), of: test))
            }
        }
        #expect(sendings.count == 2 && sendings[0] < sendings[1], "\(sendings)")
    }
}
