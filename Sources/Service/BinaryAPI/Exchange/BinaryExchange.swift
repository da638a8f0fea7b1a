import DequeModule
import Notifications

/// The state of one connection: its unanswered notifications, and how it ends (Guide, 3.1.2).
///
/// Notifications arrive in order, and their answers come in any order. The first faulty notification ends the
/// connection. The state machine then waits for the answers to the notifications before it, discards those after it,
/// and sends an error packet with the faulty one's identifier. A shutdown ends the connection in the same way; the
/// packet then has the identifier of the last accepted notification. It is a pure state machine: it takes events and
/// returns actions.
struct BinaryExchange: ~Copyable {
    /// In the order of arrival: the notifications that have no answer, and answered ones after them.
    private var open = Deque<Entry>()
    /// The ticket of the first notification in ``open``.
    private var firstTicket: UInt64 = 0
    private var ending: Ending?
    private var isOver = false
    /// The identifier of the last notification that came before those in ``open``.
    private(set) var lastAccepted: UInt32?
    /// Whether the provider can get an error packet: the format of its last notification allows one, or it has sent
    /// none yet.
    private var isAnswered = true
    private let limit: Int

    /// - Parameter limit: the largest number of unanswered notifications.
    init(limit: Int) { self.limit = limit }

    private struct Entry {
        let identifier: UInt32?
        let command: BinaryCommand
        var isAccepted = false
    }

    private enum Ending {
        case fault(BinaryFault)
        case shutdown
    }

    /// What the connection has to do.
    enum Action: Hashable {
        /// Write the packet if there is one, and end the connection in good order.
        case end(BinaryErrorPacket?)
    }

    /// Whether notifications are still accepted.
    var isOpen: Bool { ending == nil }

    /// Whether the connection can accept another notification now.
    var hasRoom: Bool { isOpen && open.count < limit }

    /// Whether all notifications are answered.
    var isIdle: Bool { open.isEmpty }

    /// The number of notifications that wait for their own answer, or for that of an earlier one.
    var openCount: Int { open.count }

    /// The ticket of the next notification.
    var nextTicket: UInt64 { firstTicket &+ UInt64(open.count) }

    /// Adds a notification. Its ticket is ``nextTicket``.
    mutating func append(_ command: BinaryCommand, _ identifier: UInt32?) {
        assert(hasRoom, "A notification was accepted without room for it.")
        isAnswered = command.isAnswered
        open.append(Entry(identifier: identifier, command: command))
    }

    /// Handles bytes that are not a notification, or a notification that cannot be accepted.
    mutating func faulted(_ fault: BinaryFault) -> Action? {
        guard isOpen else { return nil }
        ending = .fault(fault)
        return endIfAnswered()
    }

    /// Handles the answer that a notification was accepted.
    mutating func accepted(_ ticket: UInt64) -> Action? {
        guard let index = index(of: ticket) else { return nil }
        open[index].isAccepted = true
        return endIfAnswered()
    }

    /// Handles the answer that a notification was rejected. It is the faulty one, and all that came after it are
    /// discarded.
    mutating func rejected(_ ticket: UInt64, _ status: BinaryStatus) -> Action? {
        guard let index = index(of: ticket), !open[index].isAccepted else { return nil }
        let entry = open[index]
        open.removeLast(open.count - index)
        ending = .fault(BinaryFault(status: status, identifier: entry.identifier, command: entry.command))
        return endIfAnswered()
    }

    /// Stops accepting notifications. The connection ends when all open ones are answered.
    mutating func shutDown() -> Action? {
        guard isOpen else { return nil }
        ending = .shutdown
        return endIfAnswered()
    }

    /// Ends the connection now, although notifications are open. The provider will send again what came after the
    /// last notification that is known to be accepted.
    mutating func abandon() -> Action? {
        guard !isOver else { return nil }
        open.removeAll()
        ending = .shutdown
        return endIfAnswered()
    }

    /// Forgets the newest notification, which was not handed over.
    mutating func withdraw(_ ticket: UInt64) {
        if let index = index(of: ticket), index == open.count - 1, !open[index].isAccepted { open.removeLast() }
    }

    /// Whether a notification has no answer yet.
    func waits(for ticket: UInt64) -> Bool { index(of: ticket).map { !open[$0].isAccepted } ?? false }

    private func index(of ticket: UInt64) -> Int? {
        let index = ticket &- firstTicket
        return index < UInt64(open.count) ? Int(index) : nil  // fits: less than the count
    }

    private mutating func endIfAnswered() -> Action? {
        defer {
            assert(open.first?.isAccepted != true, "The first open notification has its answer.")
            assert(!isOver || ending != nil && open.isEmpty, "The connection is over before all answers came.")
        }
        while let first = open.first, first.isAccepted {
            open.removeFirst()
            firstTicket &+= 1
            lastAccepted = first.identifier ?? lastAccepted
        }
        guard let ending, open.isEmpty, !isOver else { return nil }
        isOver = true
        switch ending {
        case .fault(let fault):
            guard fault.command?.isAnswered ?? true else { return .end(nil) }
            return .end(BinaryErrorPacket(status: fault.status, identifier: fault.identifier ?? 0))
        case .shutdown:
            guard isAnswered else { return .end(nil) }
            return .end(BinaryErrorPacket(status: .shutdown, identifier: lastAccepted ?? 0))
        }
    }
}
