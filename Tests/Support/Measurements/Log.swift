import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import SQLiteStore
import Synchronization

/// Measures the cost of the delivery log: three events for each notification that is delivered at once.
func measureLog(_ folder: String) async throws {
    let count = 1_980_000
    print("Delivery log: \(count) events")
    for round in 1...3 {
        let lost = Mutex<UInt64>(0)
        let log = try FileDeliveryLog(folder: folder + "\(round)", clock: { systemMoment().time }) { report in
            lost.withLock { $0 += report.losses }
        }
        let store = try await SQLiteStore.open(folder: folder + "store\(round)")
        try await register(1000, in: store)
        log.findTokens(in: store.knownRegistrations)
        let subjects = (0..<1000 as Range<UInt64>).map { number in
            NotificationSubject(notification(number, bytes: 10), to: destination(number))
        }
        let time = systemMoment().time
        let cpu = cpuSeconds()
        var recording = 0.0
        // At the rate of a busy service, which the log can follow.
        for _ in 0..<200 {
            recording += await measured {
                for number in 0..<count / 200 / 3 {
                    let subject = subjects[number % 1000]
                    log.record(DeliveryEvent(time: time, step: .accepted, subject: subject))
                    log.record(DeliveryEvent(time: time, step: .sent, subject: subject))
                    log.record(DeliveryEvent(time: time, step: .acknowledged(after: 9), subject: subject))
                }
            }
            await log.flush()
        }
        let used = cpuSeconds() - cpu
        let perEvent = recording / Double(count) * 1e9
        let all = used / Double(count) * 1e9
        print(
            "  round \(round): recording \(rounded(perEvent)) ns an event, with writing \(rounded(all)) ns of CPU, "
                + "\(lost.withLock { $0 }) lost")
        await store.close()
    }
}
