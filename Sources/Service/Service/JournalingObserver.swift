import Delivery
import Journal
import Matching
import Notifications

/// Receives the reports of the development environment's provider APIs about requests, and keeps them in the journal.
final class JournalingObserver: RequestObserver {
    let journal: RequestJournal
    private let clock: ServiceClock

    init(journal: RequestJournal, clock: ServiceClock) {
        self.journal = journal
        self.clock = clock
    }

    func connecting(_ connection: inout ConnectionFacts) { connection.number = journal.nextConnection() }

    func handshakeEnded(_ connection: ConnectionFacts, _ result: HandshakeResult) {
        journal.record(connection, result, at: clock.time)
    }

    func connectionOpened() -> UInt64 { journal.nextConnection() }

    func connectionUnused(_ connection: UnusedConnection) { journal.record(unused: connection) }

    func unprocessed(_ requests: UnprocessedRequests) { journal.record(unprocessed: requests) }

    func decided(_ facts: RequestFacts) -> RequestDecision { .proceed(number: journal.append(facts)) }

    func ruleFired(_ number: UInt64, rule: String, _ fault: RequestFault) {
        journal.setRule(rule, of: number)
        // The provider API reports the lost notification as accepted, so the journal has to be told that it never arrives.
        if fault.losesNotification { journal.end(number, as: .lost) }
    }

    func answered(_ number: UInt64, _ answer: RequestAnswer) { journal.answered(number, answer) }

    func ended(_ number: UInt64, as outcome: RequestOutcome) { journal.end(number, as: outcome) }

    func compared(_ number: UInt64, own: String) { journal.compared(number, own: own) }

    func captured(_ number: UInt64) { journal.captured(number) }

    func created(_ number: UInt64, channel: ChannelID) { journal.setChannel(channel.rawValue, of: number) }

    func unanswered(_ number: UInt64, isDiscarded: Bool) {
        journal.unanswered(number, isDiscarded: isDiscarded)
    }
}
