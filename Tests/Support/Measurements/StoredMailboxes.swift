import Delivery
import Foundation
import Notifications
import SQLiteStore
import Synchronization

/// Measures a start with a million stored mailboxes, and a device that connects then.
func measureMailboxes(_ folder: String) async throws {
    let count = 1_000_000
    print("Stored mailboxes: \(count), of 200 bytes")
    var store = try await SQLiteStore.open(folder: folder)
    try await register(count, in: store)
    let registered = residentMemory()
    let expires = systemMoment().time.advanced(by: .seconds(86_400))
    for start in stride(from: 0, to: count, by: 8000) {
        let entries = (start..<min(count, start + 8000)).map { number in
            MailboxEntry(
                destination: destination(UInt64(number)), notification: notification(UInt64(number), bytes: 200),
                expires: expires)
        }
        for result in await store.store(entries) { _ = try result.get() }
    }
    print("  memory with the registrations alone \(registered) MiB, with the mailboxes too \(residentMemory()) MiB")
    await store.close()

    let opening = try await measured { store = try await SQLiteStore.open(folder: folder) }
    print("  opened in \(rounded(opening * 1000, 0)) ms")
    let switchboard = LocalSwitchboard(mailboxes: store, clock: systemMoment)
    var times: [Double] = []
    for number in stride(from: 0, to: count, by: count / 200) {
        let stream = FirstSending()
        let seconds = await measured {
            switchboard.attach(stream, of: destination(UInt64(number)).deviceKey, power: .low)
            await stream.arrival()
        }
        switchboard.detach(stream, of: destination(UInt64(number)).deviceKey)
        times.append(seconds * 1000)
    }
    times.sort()
    print(
        "  from connecting to sending what is stored, \(times.count) devices: median \(rounded(times[times.count / 2], 2)) "
            + "ms, 99 % within \(rounded(times[times.count * 99 / 100], 2)) ms, slowest \(rounded(times[times.count - 1], 2)) ms"
    )
    await store.close()
}

/// A stream that reports when something is sent.
private final class FirstSending: NotificationStream {
    private struct State {
        var hasCome = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func send(_ attempt: DeliveryAttempt) {
        let waiter = state.withLock { state in
            state.hasCome = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func end(_ reason: StreamEnd) {}

    func arrival() async {
        await withCheckedContinuation { continuation in
            let hasCome = state.withLock { state in
                if !state.hasCome { state.waiter = continuation }
                return state.hasCome
            }
            if hasCome { continuation.resume() }
        }
    }
}
