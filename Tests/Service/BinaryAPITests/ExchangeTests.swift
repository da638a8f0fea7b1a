import Notifications
import Testing

@testable import BinaryAPI

@Suite("What a binary connection answers")
struct ExchangeTests {
    private static func packet(_ status: BinaryStatus, _ identifier: UInt32) -> BinaryExchange.Action {
        .end(BinaryErrorPacket(status: status, identifier: identifier))
    }

    /// Takes notifications with these identifiers.
    private static func taking(_ identifiers: UInt32..., limit: Int = 100) -> BinaryExchange {
        var exchange = BinaryExchange(limit: limit)
        for identifier in identifiers { exchange.append(.items, identifier) }
        return exchange
    }

    @Test
    func `An accepted notification gets no answer`() {
        var exchange = Self.taking(7, 8)
        let actions = [exchange.accepted(0), exchange.accepted(1)]
        #expect(actions == [nil, nil])
        let state = (exchange.isIdle, exchange.isOpen, exchange.lastAccepted)
        #expect(state == (true, true, 8))
    }

    @Test
    func `A fault waits for the answers to earlier notifications`() {
        var exchange = Self.taking(7, 8)
        let first = exchange.faulted(BinaryFault(status: .missingPayload, identifier: 9, command: .items))
        let isOpen = exchange.isOpen
        #expect(first == nil && !isOpen)
        let second = exchange.accepted(1)
        #expect(second == nil)
        let third = exchange.accepted(0)
        #expect(third == Self.packet(.missingPayload, 9))
    }

    @Test
    func `Of several faults the first in order counts, even if it is known later`() {
        var exchange = Self.taking(7, 8, 9)
        _ = exchange.faulted(BinaryFault(status: .protocolError, identifier: 10, command: .items))
        let late = exchange.rejected(2, .processingError)
        #expect(late == nil)
        let early = exchange.rejected(1, .invalidToken)
        #expect(early == nil)
        let end = exchange.accepted(0)
        #expect(end == Self.packet(.invalidToken, 8))
    }

    @Test
    func `Notifications after the faulty one are ignored`() {
        var exchange = Self.taking(7, 8, 9)
        let end = exchange.accepted(0)
        #expect(end == nil)
        let rejected = exchange.rejected(1, .invalidToken)
        #expect(rejected == Self.packet(.invalidToken, 8))
        let late = exchange.accepted(2)
        let lastAccepted = exchange.lastAccepted
        #expect(late == nil && lastAccepted == 7)
    }

    @Test
    func `Only one error packet is sent`() {
        var exchange = Self.taking(7)
        _ = exchange.rejected(0, .invalidToken)
        let again = [
            exchange.shutDown(), exchange.abandon(), exchange.accepted(0),
            exchange.faulted(BinaryFault(status: .protocolError)),
        ]
        #expect(again == [nil, nil, nil, nil])
    }

    @Test
    func `After a shutdown the packet has the last accepted identifier, when all are answered`() {
        var exchange = Self.taking(7, 8)
        let begin = exchange.shutDown()
        let hasRoom = exchange.hasRoom
        #expect(begin == nil && !hasRoom)
        let first = exchange.accepted(1)
        #expect(first == nil)
        let end = exchange.accepted(0)
        #expect(end == Self.packet(.shutdown, 8))
    }

    @Test
    func `After a shutdown without a notification the identifier is 0`() {
        var exchange = BinaryExchange(limit: 1)
        let end = exchange.shutDown()
        #expect(end == Self.packet(.shutdown, 0))
    }

    @Test
    func `Giving up names the last notification of those that were accepted without a gap`() {
        var exchange = Self.taking(7, 8, 9)
        _ = exchange.accepted(0)
        _ = exchange.accepted(2)
        let end = exchange.abandon()
        #expect(end == Self.packet(.shutdown, 7))
    }

    @Test
    func `A withdrawn notification is not waited for, and its ticket is used again`() {
        var exchange = Self.taking(7, 8)
        exchange.withdraw(1)
        let (next, waits) = (exchange.nextTicket, exchange.waits(for: 1))
        #expect(next == 1 && !waits)
        _ = exchange.accepted(0)
        let end = exchange.shutDown()
        #expect(end == Self.packet(.shutdown, 7))
    }

    @Test
    func `Only the newest notification can be withdrawn, and only before its answer`() {
        var exchange = Self.taking(7, 8)
        exchange.withdraw(0)
        _ = exchange.accepted(1)
        exchange.withdraw(1)
        let count = exchange.openCount
        #expect(count == 2)
    }

    @Test
    func `With the legacy format there is never a packet`() {
        var exchange = BinaryExchange(limit: 10)
        exchange.append(.legacy, nil)
        let fault = exchange.rejected(0, .invalidToken)
        #expect(fault == .end(nil))
        var other = BinaryExchange(limit: 10)
        other.append(.legacy, nil)
        _ = other.accepted(0)
        let end = other.shutDown()
        #expect(end == .end(nil))
    }

    @Test
    func `There is room for as many notifications as the limit allows`() {
        var exchange = Self.taking(1, 2, limit: 2)
        var rooms = [exchange.hasRoom]
        _ = exchange.accepted(1)
        rooms.append(exchange.hasRoom)
        _ = exchange.accepted(0)
        rooms.append(exchange.hasRoom)
        #expect(rooms == [false, false, true])
        let next = exchange.nextTicket
        #expect(next == 2)
    }
}
