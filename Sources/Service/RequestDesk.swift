import Journal
import Matching
import Notifications

/// The gateways of the development environment report the requests of providers here.
final class RequestDesk: RequestObserver {
    let journal: RequestJournal

    init(journal: RequestJournal) { self.journal = journal }

    func connectionOpened() -> UInt64 { journal.nextConnection() }

    func connectionUnused(_ connection: UnusedConnection) { journal.note(unused: connection) }

    func decided(_ facts: RequestFacts) -> RequestDecision { .proceed(number: journal.append(facts)) }

    func rehearsed(_ number: UInt64, rule: String, _ fault: RequestFault) {
        journal.note(rule: rule, of: number)
        // The gateway counts it as accepted. Without this, the journal would not show that it never arrives.
        if case .lose = fault.kind { journal.end(number, as: .lost) }
    }

    func answered(_ number: UInt64, _ answer: RequestAnswer) { journal.answered(number, answer) }

    func ended(_ number: UInt64, as outcome: RequestOutcome) { journal.end(number, as: outcome) }

    func created(_ number: UInt64, channel: ChannelID) { journal.note(channel: channel.rawValue, of: number) }

    func unanswered(_ number: UInt64, isDiscarded: Bool) {
        journal.unanswered(number, isDiscarded: isDiscarded)
    }
}
