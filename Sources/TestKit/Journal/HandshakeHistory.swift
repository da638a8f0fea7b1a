import DequeModule
import Matching

/// The last TLS handshakes that failed or that a rehearsal disturbed, for the report. It is a value without locks.
struct HandshakeHistory {
    private var handshakes = Deque<HandshakeRecord>()
    /// How many records each client has.
    private var clients: [ConnectionFacts.Client: Int] = [:]

    var records: [HandshakeRecord] { Array(handshakes) }

    /// Records the result of a handshake.
    /// - Parameter number: the number of the journal's entry, if the handshake failed.
    mutating func append(_ connection: ConnectionFacts, _ result: HandshakeResult, number: UInt64?) {
        guard connection.fault != nil || result != .completed else { return cameBack(connection.client) }
        if handshakes.count >= JournalLimits.handshakes, let oldest = handshakes.popFirst() { forget(oldest) }
        handshakes.append(HandshakeRecord(connection, result, number: number))
        clients[connection.client, default: 0] += 1
    }

    /// Whether a rehearsal disturbed the handshake of this connection.
    func isDisturbed(_ connection: UInt64) -> Bool {
        handshakes.contains { $0.connection.number == connection && $0.connection.fault != nil }
    }

    private mutating func cameBack(_ client: ConnectionFacts.Client) {
        // Nearly every client has no record, so do not search for it.
        guard clients[client] != nil else { return }
        for index in handshakes.indices where handshakes[index].connection.client == client {
            handshakes[index].cameBack = true
        }
    }

    mutating func remove(_ match: RequestMatch) {
        for record in handshakes where match.matches(record.connection) { forget(record) }
        handshakes.removeAll { match.matches($0.connection) }
    }

    private mutating func forget(_ record: HandshakeRecord) {
        let left = clients[record.connection.client, default: 0] - 1
        clients[record.connection.client] = left > 0 ? left : nil
    }
}
