import Connections
import Delivery
import Matching
import NIOCore
import Notifications

// The faults that a rehearsal causes on a connection of the binary API.
extension BinaryConnection {
    /// Carries out a fault on a notification that was accepted.
    /// - Throws: the fault that ends the connection with an error packet.
    func carryOut(
        _ fault: RequestFault,
        on notification: BinaryNotification,
        _ submission: Submission,
    ) throws(BinaryFault) {
        if faults == nil { faults = ConnectionFaults() }
        if case .errorPacket(let status) = fault.kind, !fault.isAccepted {
            observation?.answered(submission.ticket, status)
            throw BinaryFault(status: status, identifier: notification.identifier, command: notification.command)
        }
        if fault.actsBeforeAcceptance, !fault.losesNotification {
            observation?.unanswered(submission.ticket, isDiscarded: true)
            return misbehave(fault)
        }
        if case .delay(let delay) = fault.kind { return acceptLater(notification, submission, delay) }
        exchange.append(notification.command, notification.identifier)
        switch fault.kind {
        case .lose:
            observation?.answered(submission.ticket, .noErrors)
            perform(exchange.accepted(submission.ticket))
        case .duplicate(let count):
            // All copies have the same ticket. The first answer to it is used.
            batch.append(contentsOf: repeatElement(submission, count: count))
        case .close, .hang, .errorPacket:
            faults?.set(fault, on: submission.ticket)
            batch.append(submission)
        case .answer, .goAway, .reset, .delay, .settings, .omit:
            batch.append(submission)
        }
    }

    /// Returns whether a rehearsal handles an answer of `Delivery`.
    func isRehearsed(_ ticket: UInt64, _ outcome: Outcome) -> Bool {
        if faults?.hangsSince != nil { return true }
        guard case .accepted = outcome, let fault = faults?.removeFault(of: ticket) else { return false }
        if case .errorPacket(let status) = fault.kind {
            observation?.answered(ticket, status)
            perform(exchange.rejected(ticket, status))
            stopIfEnding()
        } else {
            observation?.unanswered(ticket, isDiscarded: false)
            misbehave(fault)
        }
        return true
    }

    /// Ends a connection that has hung for longer than ``RequestFault/longest``.
    /// - Returns: whether the connection has ended.
    func endsHanging(_ now: NIODeadline) -> Bool {
        guard let since = faults?.hangsSince, since + TimeAmount(RequestFault.longest) < now else { return false }
        channel.close()
        return true
    }

    private func misbehave(_ fault: RequestFault) {
        switch fault.kind {
        case .close(let kind):
            // Read nothing more from the socket. Bytes that were read already are processed first.
            faults?.hang(since: second)
            let connection = NIOLoopBound(self, eventLoop: eventLoop)
            eventLoop.execute { connection.value.close(kind) }
        case .hang:
            faults?.hang(since: second)
        case .answer, .goAway, .reset, .delay, .lose, .duplicate, .settings, .omit, .errorPacket: break
        }
    }

    private func close(_ kind: RequestFault.CloseKind) {
        // Do not send the error packet, because a server that fails would not send one.
        _ = exchange.abandon()
        stopIfEnding()
        switch kind {
        case .fin: channel.finish(with: nil)
        case .rst: channel.abort()
        }
    }

    private func acceptLater(_ notification: BinaryNotification, _ submission: Submission, _ delay: Duration) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(in: TimeAmount(delay)) {
            connection.value.faults?.timerFired()
            guard connection.value.exchange.isOpen else { return }
            connection.value.exchange.append(notification.command, notification.identifier)
            connection.value.batch.append(submission)
            connection.value.process()
        }
        faults?.wait(timer)
    }
}
