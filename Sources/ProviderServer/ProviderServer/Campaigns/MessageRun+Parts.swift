import CampaignStore
import Notifications
import Storage

// The parts of a message that recipients get at different times.
extension MessageRun {
    /// Recipients who get the message at the same moment.
    struct Part: Sendable, Hashable {
        let due: Timestamp
        /// The time zones of the recipients; nil for all.
        let timeZones: [String]?
    }

    /// Whether recipients get the message at different times.
    var isByTimeZone: Bool { definition.localTime != nil || definition.quietHours != nil }

    /// Returns the first part at or after a position; nil if there is none. If the store fails, waits until it works
    /// again.
    func nextPart(from position: MessageRecord.Position) async -> Part? {
        guard isByTimeZone else {
            return message.starts >= position.due ? Part(due: message.starts, timeZones: nil) : nil
        }
        guard let moments = await dueTimes() else { return nil }
        return moments.values.filter { $0 >= position.due }.min().map { part(due: $0, moments) }
    }

    /// Returns the part of those whose turn was before a moment; nil if sending ended.
    func latecomers(before moment: Timestamp) async -> Part? {
        guard let moments = await dueTimes() else { return nil }
        return part(due: moment, moments)
    }

    /// A part also has the time zones whose turn has passed: somebody who travels there must not miss the message. Who got
    /// it already has an outcome, and is no recipient any more.
    private func part(due: Timestamp, _ moments: [String: Timestamp]) -> Part {
        Part(due: due, timeZones: moments.filter { $0.value <= due }.keys.sorted())
    }

    /// Returns when the recipients in each time zone get the message. If the store fails, waits until it works again.
    /// - Returns: nil if the message was stopped, or if the store is too slow.
    private func dueTimes() async -> [String: Timestamp]? {
        var failures = 0
        while !control.isStopped, slowReads.refusal == nil {
            do throws(StoreError) {
                let zones = try await store.timeZones(app: message.app)
                slowReads.add(nil)
                return Dictionary(zones.map { ($0, moment(in: $0)) }, uniquingKeysWith: { $1 })
            } catch {
                failures += 1
                slowReads.add(error)
                guard slowReads.refusal == nil else { return nil }
                await wait(for: error.cause, failures)
            }
        }
        return nil
    }

    /// Returns when recipients in a time zone get the message.
    private func moment(in zone: String) -> Timestamp {
        definition.localTime?.moment(in: zone) ?? definition.quietHours?.moment(after: message.starts, in: zone)
            ?? message.starts
    }
}
