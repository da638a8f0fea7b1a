@testable import DeviceAgent

// What programs on the session bus send to the device agent.
extension FuzzEntry {
    /// Reads a message of D-Bus, and what it asks of the distributor of UnifiedPush. A body is only read by its own bytes.
    static func readBusMessage(_ bytes: [UInt8]) {
        guard let length = try? BusMessage.length(of: bytes), length <= bytes.count else { return }
        precondition(length >= BusMessage.fixedBytes + 4 && length <= 2 * BusMessage.maximumBytes + 32)
        guard let (message, body) = BusMessage.read(Array(bytes[..<length])) else { return }
        for read in [{ $0.text() != nil }, { $0.dictionary() != nil }, { $0.texts() != nil }]
            as [(inout BusReader) -> Bool]
        {
            var rest = body
            if read(&rest) { precondition(rest.position <= length) }
        }
        _ = Introspection.answer(to: message)
        guard let request = try? DistributorRequest(message, body) else { return }
        switch request.kind {
        case .register(let service, let token, _): precondition(!service.isEmpty && token.utf8.count <= 100)
        case .unregister(let token): precondition(token.utf8.count <= 100)
        }
    }

    /// Whether the distributor takes a message.
    package static func isDistributorRequest(_ bytes: [UInt8]) -> Bool {
        guard let (message, body) = BusMessage.read(bytes) else { return false }
        return (try? DistributorRequest(message, body)) != nil
    }
}
