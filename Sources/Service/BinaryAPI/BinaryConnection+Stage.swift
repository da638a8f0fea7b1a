import Delivery
import Matching
import NIOCore
import Notifications
import Trust

// What the connection shows of its notifications, and what a stage may do with it.
extension BinaryConnection: BinaryPerformer {
    func decide(_ ticket: UInt64, _ status: BinaryStatus) {
        perform(status == .noErrors ? exchange.accepted(ticket) : exchange.rejected(ticket, status))
        stopIfEnding()
    }

    func withdraw(_ ticket: UInt64) { exchange.withdraw(ticket) }

    func close(_ kind: RequestFault.CloseKind) {
        // Do not send the error packet, because a server that fails would not send one.
        _ = exchange.abandon()
        stopIfEnding()
        switch kind {
        case .fin: channel.finish(with: nil)
        case .rst: channel.abort()
        }
    }

    func resume() { process() }

    func later(_ delay: Duration, _ action: @escaping () -> Void) {
        let action = NIOLoopBound(action, eventLoop: eventLoop)
        eventLoop.scheduleTask(in: TimeAmount(delay)) { action.value() }
    }

    /// - Parameter notification: nil if it could not be read.
    func facts(_ notification: BinaryNotification?, id: NotificationID) -> RequestFacts {
        var facts = RequestFacts(
            time: api.delivery.clock.time,
            connection: 0,
            environment: api.certificates.environment,
            interface: .binary,
            team: api.certificates.team(of: identity),
            sender: .certificate(identity.serial),
            topic: topic.name,
            apnsID: id,
        )
        if identity.foreignTeam != nil { facts.unknown.insert(.sender) }
        guard let notification else { return facts }
        facts.token = notification.deviceToken.description
        facts.body = notification.payload.json
        facts.device = rules.device(of: notification, topic.app)
        guard let firstSight = rules.firstSight else { return facts }
        if let app = topic.app, firstSight.hasMade(app.id) { facts.unknown.insert(.topic) }
        if firstSight.device(of: notification.deviceToken.array) != nil { facts.unknown.insert(.deviceToken) }
        return facts
    }
}
