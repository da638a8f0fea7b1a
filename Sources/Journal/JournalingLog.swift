package import Delivery

/// A delivery log that shows each event to the journal first, so that the journal has a request's outcome before its
/// answer is sent.
package struct JournalingLog: DeliveryLog {
    private let journal: RequestJournal
    private let log: any DeliveryLog

    package init(_ journal: RequestJournal, _ log: any DeliveryLog) {
        self.journal = journal
        self.log = log
    }

    package func record(_ event: DeliveryEvent) {
        journal.note(event)
        log.record(event)
    }
}
