import Journal
import Matching

/// Where the gateways of the development environment show the requests of providers.
final class RequestDesk: RequestObserver {
    let journal: RequestJournal

    init(journal: RequestJournal) { self.journal = journal }

    func connectionOpened() -> UInt64 { journal.nextConnection() }

    func decided(_ facts: RequestFacts) -> RequestDecision { .proceed(number: journal.append(facts)) }

    func answered(_ number: UInt64, _ answer: RequestAnswer) { journal.answered(number, answer) }

    func unanswered(_ number: UInt64, isDiscarded: Bool) {
        journal.unanswered(number, isDiscarded: isDiscarded)
    }
}
