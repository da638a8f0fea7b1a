import CommonTesting
import Foundation
import Notifications
@testable import ServiceTesting

/// One connection of a device: its stream of notifications as lines, and its other requests. For tests that have too
/// many devices for a curl process each.
struct WireDevice: Sendable {
    private let client: WireClient
    private let stream: WireClient.Open

    /// Connects, and opens the stream of notifications.
    /// - Parameter identity: the file that `carillon device activate` made.
    init(_ service: CarillonProcess, identity: String) async throws {
        let pem = try String(contentsOfFile: identity, encoding: .utf8)
        client = try await WireClient.connect(
            port: try service.port(of: service.addresses(.development).courier), authorityFile: service.ready.ca,
            certificate: ClientCertificate(chainPEM: pem, keyPEM: pem))
        stream = try await client.open(Self.head("GET", "/1/notifications"), endStream: true)
    }

    /// The next line of the stream of notifications, without keep-alives; nil once it has ended.
    func nextLine() async throws -> String? {
        while let line = try await stream.nextLine() {
            if !line.isEmpty { return line }
        }
        return nil
    }

    /// Acknowledges a notification of the stream, and waits for the answer.
    func acknowledge(_ line: FoundationJSON) async throws {
        let sending = Int(try line["sending"].flatMap(\.number).orThrow("no sending: \(line)"))
        let answer = try await client.send(
            Self.head("POST", "/1/acknowledgements"), body: #"{"sendings":[\#(sending)]}"#)
        guard answer.status == 204 else { throw UnexpectedOutput(description: "an acknowledgement: \(answer)") }
    }

    func close() async { await client.close() }

    private static func head(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }
}
