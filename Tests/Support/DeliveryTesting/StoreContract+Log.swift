import Delivery
import Notifications
import Testing

/// What a store records in the delivery log: notifications that it removes from mailboxes by itself.
extension StoreContract {
    static let logPromises: [Promise] = [
        Promise(
            "a replaced notification names the one that replaced it, even within one batch", withLog: tellsReplaced),
        Promise(
            "a notification replaced by one with the same collapse identifier is coalesced into it",
            withLog: tellsCoalesced),
        Promise("storing the same notification again records nothing", withLog: storingAgainTellsNothing),
        Promise("an expired notification is recorded when it is removed", withLog: tellsExpired),
        Promise("a notification for a removed app is recorded as discarded", withLog: tellsDiscarded),
        Promise("a requested removal records nothing", withLog: removalTellsNothing),
    ]

    private struct Told: Equatable {
        let subject: NotificationSubject
        let step: DeliveryStep

        init(_ id: UInt64, _ step: DeliveryStep) {
            subject = NotificationSubject(Samples.entry(id: id).notification, to: Samples.destination())
            self.step = step
        }

        init(_ event: DeliveryEvent) {
            subject = event.subject
            step = event.step
        }
    }

    private static func id(_ number: UInt64) -> NotificationID { Samples.entry(id: number).notification.id }

    private static func register(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.moment)
    }

    private static func store(_ id: UInt64, collapseID: String? = nil, in ports: Ports) async throws -> MailboxVersion {
        var entry = Samples.entry(id: id)
        entry.notification.fields.collapseID = collapseID.flatMap(CollapseIdentifier.init(rawValue:))
        return try #require(await ports.mailboxes.store([entry]).first).get()
    }

    @Sendable
    private static func tellsReplaced(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        _ = try await store(1, in: ports)
        _ = await ports.mailboxes.store([Samples.entry(id: 2), Samples.entry(id: 3)])
        #expect(log.events.map(Told.init) == [Told(1, .replaced(by: id(2))), Told(2, .replaced(by: id(3)))])
    }

    @Sendable
    private static func tellsCoalesced(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        for (number, collapseID) in [(1, "a"), (2, "a"), (3, "b")] as [(UInt64, String)] {
            _ = try await store(number, collapseID: collapseID, in: ports)
        }
        #expect(log.events.map(\.step) == [.coalesced(into: id(2)), .replaced(by: id(3))])
    }

    @Sendable
    private static func storingAgainTellsNothing(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        for _ in 0..<2 { _ = try await store(1, in: ports) }
        #expect(log.events.isEmpty)
    }

    @Sendable
    private static func tellsExpired(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        _ = try await store(1, in: ports)
        let moment = Samples.muchLater.advanced(by: .seconds(1))
        #expect(try await ports.mailboxes.removeExpired(before: moment, limit: 10) == 1)
        #expect(log.events.map(Told.init) == [Told(1, .expired)])
    }

    @Sendable
    private static func tellsDiscarded(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        _ = try await store(1, in: ports)
        _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
        try await register(ports)
        _ = try await store(2, in: ports)
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 1, at: Samples.muchLater)
        #expect(
            log.events.map(Told.init) == [
                Told(1, .discarded(.unregistered)), Told(2, .discarded(.unregistered)),
            ])
    }

    @Sendable
    private static func removalTellsNothing(_ ports: Ports, _ log: RecordingLog) async throws {
        try await register(ports)
        let version = try await store(1, in: ports)
        _ = await ports.mailboxes.remove([MailboxReference(destination: Samples.destination(), version: version)])
        #expect(log.events.isEmpty)
    }
}
