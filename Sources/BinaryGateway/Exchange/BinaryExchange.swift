import DequeModule

/// What one connection has been told so far, and how it ends (Guide, 3.1.2).
///
/// Notifications are taken in their order and answered in any. The first faulty one ends the connection: what came
/// before it is waited for and kept, what comes after it is discarded, and then an error packet names it. A shutdown
/// ends it likewise, and the packet names the last that was accepted. A pure state machine: what happened goes in, what
/// is to be done comes out.
struct BinaryExchange: ~Copyable {
    /// In the order of arrival, those without an answer and those that wait for an earlier one's.
    private var open = Deque<Entry>()
    /// The first one's of ``open``.
    private var firstTicket: UInt64 = 0
    private var ending: Ending?
    private var isOver = false
    /// Of all before ``open``.
    private(set) var lastAccepted: UInt32?
    /// Whether the provider uses a format to which something may be answered: it has sent such a notification last, or
    /// nothing at all.
    private var isAnswered = true
    private let limit: Int

    /// - Parameter limit: how many notifications may wait for their answers.
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

    /// What is to be done.
    enum Action: Hashable {
        /// Write the packet, if there is one, and end the connection in good order.
        case end(BinaryErrorPacket?)
    }

    /// Whether notifications are still taken at all.
    var isTaking: Bool { ending == nil }

    /// Whether another notification can be taken now.
    var hasRoom: Bool { isTaking && open.count < limit }

    /// Whether nothing waits for an answer.
    var isIdle: Bool { open.isEmpty }

    /// How many wait, themselves or for an earlier one's answer.
    var openCount: Int { open.count }

    /// What the answer to the next notification will be known by.
    var nextTicket: UInt64 { firstTicket &+ UInt64(open.count) }

    /// A notification has come, and is handed over as ``nextTicket``.
    mutating func take(_ command: BinaryCommand, _ identifier: UInt32?) {
        isAnswered = command.isAnswered
        open.append(Entry(identifier: identifier, command: command))
    }

    /// What came is no notification, or cannot be taken.
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

    /// A notification was refused: it is the faulty one, and whatever came after it counts for nothing.
    mutating func rejected(_ ticket: UInt64, _ status: BinaryStatus) -> Action? {
        guard let index = index(of: ticket), !open[index].isAccepted else { return nil }
        let entry = open[index]
        open.removeLast(open.count - index)
        ending = .fault(BinaryFault(status: status, identifier: entry.identifier, command: entry.command))
        return settle()
    }

    /// Takes no more; ends once everything that was taken is answered.
    mutating func shutDown() -> Action? {
        guard isTaking else { return nil }
        ending = .shutdown
        return settle()
    }

    /// Ends now, whatever is still open: the provider will send again what came after the last that is known to be
    /// accepted.
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
