import CBareSQLite
import Delivery
import Foundation
import Notifications
import SQLiteStore

/// Measures durable acceptance for offline devices, and SQLite alone with the same rows in the same transactions.
func measureAcceptance(_ folder: String) async throws {
    let (count, bytes, open) = (200_000, 200, 8000)
    let step = 1000
    guard let deviceToken = DeviceToken([UInt8](repeating: 0, count: DeviceToken.byteCount)[...]) else { return }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    print("Durable acceptance: \(count) notifications of \(bytes) bytes, \(open) open at a time")
    for round in 1...3 {
        let store = try await SQLiteStore.open(folder: folder + "/store\(round)")
        try await register(count, in: store)
        let before = store.committed
        let switchboard = LocalSwitchboard(mailboxes: store, clock: systemMoment)
        let delivery = Delivery(
            accounts: store, registrations: store, mailboxes: store, switchboard: switchboard, feedback: store,
            origin: OfferOrigin(rawValue: UInt64(round)), clock: ServiceClock(machine: systemMoment))
        let answers = Answers()
        let cpu = cpuSeconds()
        let seconds = await measured {
            for start in stride(from: 0, to: count, by: step) {
                if start >= open { await answers.reach(start - open + step) }
                let batch = (start..<start + step).map { number in
                    Submission(
                        destination: destination(UInt64(number)), deviceToken: deviceToken, generation: 1,
                        notification: notification(UInt64(number), bytes: bytes), ticket: UInt64(number))
                }
                delivery.submit(batch, answers: answers)
            }
            await answers.reach(count)
        }
        let used = cpuSeconds() - cpu
        let after = store.committed
        await store.close()
        let size = max(1, (after.items - before.items) / max(1, after.transactions - before.transactions))
        let bare = bare_sqlite_write(folder + "/bare\(round).sqlite", Int32(count), Int32(size), Int32(bytes))
        print(
            "  round \(round): \(rounded(Double(count) / seconds, 0)) a second "
                + "(\(rounded(used / Double(count) * 1e6)) µs of CPU each, \(answers.rejected) refused), "
                + "bare SQLite with \(size) rows in a transaction \(rounded(Double(count) / bare, 0)) a second: "
                + "\(rounded(bare / seconds * 100, 0)) %")
    }
}

/// Registers the first devices.
func register(_ count: Int, in store: SQLiteStore) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<64 {
            group.addTask {
                for number in stride(from: part, to: count, by: 64) {
                    _ = try await store.register(
                        destination(UInt64(number)), tokenKeyID: 1, at: Timestamp(milliseconds: 1))
                }
            }
        }
        try await group.waitForAll()
    }
}
