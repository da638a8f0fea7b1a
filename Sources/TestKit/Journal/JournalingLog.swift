package import Delivery

/// A delivery log that passes each event to the journal before the log itself. So the journal knows a request's
/// outcome before the answer is sent.
package struct JournalingLog: DeliveryLog {
    private let journal: RequestJournal
    private let log: any DeliveryLog

    package init(_ journal: RequestJournal, _ log: any DeliveryLog) {
        self.journal = journal
        self.log = log
    }

    package func record(_ event: DeliveryEvent) {
        journal.record(event)
        log.record(event)
    }
}
