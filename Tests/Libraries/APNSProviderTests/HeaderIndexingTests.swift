import Foundation
import ProviderTesting
import Testing

@testable import APNSProvider

/// How each header field is encoded on the wire (RFC 7541, 6), by the text under Table 8-1.
@Suite(.timeLimit(.minutes(1))) struct HeaderIndexingTests {
    /// The form of a field in a header block.
    enum Form: Equatable {
        /// The index of a name and a value in the table (6.1).
        case indexed
        /// A literal with incremental indexing (6.2.1).
        case incremental
        /// A literal without indexing (6.2.2).
        case withoutIndexing
        /// A literal that is never indexed (6.2.3).
        case neverIndexed
    }

    /// Reads the forms of a header block, without its texts.
    private static func forms(_ block: [UInt8]) -> [Form] {
        var forms: [Form] = []
        var index = 0
        func integer(_ bits: UInt8) -> Int {
            let mask = Int(1) << Int(bits) - 1
            var value = Int(block[index]) & mask
            index += 1
            guard value == mask else { return value }
            var shift = 0
            while index < block.count {
                let byte = Int(block[index])
                index += 1
                value += (byte & 0x7f) << shift
                shift += 7
                if byte & 0x80 == 0 { break }
            }
            return value
        }
        func skipText() {
            let count = integer(7)
            index += count
        }
        while index < block.count {
            let byte = block[index]
            if byte & 0x80 != 0 {
                _ = integer(7)
                forms.append(.indexed)
            } else if byte & 0xe0 == 0x20 {
                _ = integer(5)  // A change of the table's size (6.3).
            } else {
                let form: Form = byte & 0x40 != 0 ? .incremental : byte & 0x10 != 0 ? .neverIndexed : .withoutIndexing
                if integer(form == .incremental ? 6 : 4) == 0 { skipText() }
                skipText()
                forms.append(form)
            }
        }
        return forms
    }

    /// The fields in the order in which they are sent.
    private static let fields = [
        ":method", ":scheme", ":path", ":authority", "authorization", "apns-topic", "apns-push-type", "apns-priority",
        "apns-id", "apns-expiration", "apns-collapse-id",
    ]

    @Test func `Fields are indexed as the guide demands`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                for number in 0..<3 {
                    let notification = try PushNotification(
                        topic: Sample.topic, APS(alert: "Hello"), id: UUID(),
                        expiration: .at(Date(timeIntervalSince1970: 2_000_000_000 + Double(number))),
                        priority: .immediate, collapseID: "score \(number)")
                    try await client.send(notification, to: try Sample.deviceToken(number))
                }
                let blocks = server.log.frames(1).map { Dictionary(zip(Self.fields, Self.forms($0))) { $1 } }
                #expect(blocks.count == 3)
                for block in blocks {
                    #expect(block.count == Self.fields.count)
                    #expect(block[":path"] == .withoutIndexing)
                    #expect(block["authorization"] == .withoutIndexing)
                }
                for name in ["apns-id", "apns-expiration", "apns-collapse-id"] {
                    #expect(blocks[0][name] == .incremental)
                    #expect(blocks[1][name] == .withoutIndexing)
                    #expect(blocks[2][name] == .withoutIndexing)
                }
                for name in [":authority", "apns-topic", "apns-push-type", "apns-priority"] {
                    #expect(blocks[0][name] == .incremental)
                    #expect(blocks[1][name] == .indexed)
                    #expect(blocks[2][name] == .indexed)
                }
            }
        }
    }
}
