import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import Synchronization

/// What the delivery log costs: three events for each notification that is delivered at once.
func measureLog(_ folder: String) async throws {
    let count = 2_000_000
    print("Delivery log: \(count) events")
    for round in 1...3 {
        let lost = Mutex<UInt64>(0)
        let log = try FileDeliveryLog(folder: folder + "\(round)", clock: { systemMoment().time }) { report in
            lost.withLock { $0 += report.losses }
        }
        let subject = NotificationSubject(notification(1, bytes: 10), to: destination(1))
        let time = systemMoment().time
        let cpu = cpuSeconds()
        var recording = 0.0
        // At a pace that the log keeps up with, as that of a busy service.
        for _ in 0..<200 {
            recording += await measured {
                for _ in 0..<count / 200 {
                    log.record(DeliveryEvent(time: time, step: .sent, subject: subject))
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
    }
}
