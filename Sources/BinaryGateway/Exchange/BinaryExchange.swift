import DequeModule

/// The state of one connection: its unanswered notifications, and how it ends (Guide, 3.1.2).
///
/// Notifications arrive in order and are answered in any order. The first faulty one ends the connection: the state
/// machine waits for the answers to those before it, discards those after it, and then sends an error packet that names
/// it. A shutdown ends the connection in the same way, and the packet names the last accepted notification. A pure
/// state machine: events go in, actions come out.
struct BinaryExchange: ~Copyable {
    /// In the order of arrival: notifications without an answer, and those that wait for the answer to an earlier one.
    private var open = Deque<Entry>()
    /// The ticket of the first of ``open``.
    private var firstTicket: UInt64 = 0
    private var ending: Ending?
    private var isOver = false
    /// The identifier of the last notification before ``open``.
    private(set) var lastAccepted: UInt32?
    /// Whether the provider may get an error packet: its last notification had a format that allows one, or it has sent
    /// none.
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
        /// Write the packet, if there is one, and end the connection in good order.
        case end(BinaryErrorPacket?)
    }

    /// Whether notifications are still accepted.
    var isTaking: Bool { ending == nil }

    /// Whether another notification can be taken now.
    var hasRoom: Bool { isTaking && open.count < limit }

    /// Whether nothing waits for an answer.
    var isIdle: Bool { open.isEmpty }

    /// The number of notifications that wait for their own answer or for an earlier one's.
    var openCount: Int { open.count }

    /// The ticket of the next notification.
    var nextTicket: UInt64 { firstTicket &+ UInt64(open.count) }

    /// Notes a notification, which is handed over with ``nextTicket``.
    mutating func take(_ command: BinaryCommand, _ identifier: UInt32?) {
        isAnswered = command.isAnswered
        open.append(Entry(identifier: identifier, command: command))
    }

    /// The bytes are not a notification, or it cannot be accepted.
    mutating func faulted(_ fault: BinaryFault) -> Action? {
        guard isTaking else { return nil }
        ending = .fault(fault)
        return settle()
    }

    /// A notification was accepted.
    mutating func accepted(_ ticket: UInt64) -> Action? {
        guard let index = index(of: ticket) else { return nil }
        open[index].isAccepted = true
        return settle()
    }

    /// A notification was refused: it is the faulty one, and all that came after it are discarded.
    mutating func rejected(_ ticket: UInt64, _ status: BinaryStatus) -> Action? {
        guard let index = index(of: ticket), !open[index].isAccepted else { return nil }
        let entry = open[index]
        open.removeLast(open.count - index)
        ending = .fault(BinaryFault(status: status, identifier: entry.identifier, command: entry.command))
        return settle()
    }

    /// Accepts no more. The connection ends when all open notifications are answered.
    mutating func shutDown() -> Action? {
        guard isTaking else { return nil }
        ending = .shutdown
        return settle()
    }

    /// Ends now, with notifications still open. The provider will send again what came after the last one that is known
    /// to be accepted.
    mutating func abandon() -> Action? {
        guard !isOver else { return nil }
        open.removeAll()
        ending = .shutdown
        return settle()
    }

    private func index(of ticket: UInt64) -> Int? {
        let index = ticket &- firstTicket
        return index < UInt64(open.count) ? Int(index) : nil
    }

    private mutating func settle() -> Action? {
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
