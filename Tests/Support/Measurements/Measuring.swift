import Delivery
import Foundation
import Notifications
import Synchronization

func measured(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    let duration = ContinuousClock.now - start
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

/// The CPU time of all threads of this process, in seconds.
func cpuSeconds() -> Double {
    var usage = rusage()
    guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The resident memory, in MiB.
func residentMemory() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, 256, file) != nil else { return 0 }
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096 / 1_048_576
}

func rounded(_ number: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", number) }

func systemMoment() -> Moment {
    Moment(
        time: Timestamp(milliseconds: UInt64(Date().timeIntervalSince1970 * 1000)),
        uptime: Uptime(nanoseconds: DispatchTime.now().uptimeNanoseconds))
}

/// The n-th destination. Device IDs are as scattered as real ones.
func destination(_ number: UInt64) -> Destination {
    let device = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Destination(environment: .production, device: DeviceID(rawValue: device), app: AppID(rawValue: 1))
}

/// An alert of that many bytes.
private func payload(bytes: Int) -> Payload {
    let (begin, end) = (#"{"aps":{"alert":""#, #""}}"#)
    let text = String(repeating: "x", count: max(0, bytes - begin.utf8.count - end.utf8.count))
    return Payload(stored: Array((begin + text + end).utf8), contents: [.aps, .alert])
}

func notification(_ number: UInt64, bytes: Int) -> Notifications.Notification {
    Notification(
        id: NotificationID(high: number, low: number),
        topic: "com.example.app",
        payload: payload(bytes: bytes),
    )
}

/// Counts answers, and limits the number of open submissions.
final class Answers: SubmissionAnswers {
    private struct State {
        var accepted = 0
        var rejected = 0
        var goal = Int.max
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var rejected: Int { state.withLock { $0.rejected } }

    func answer(_ ticket: UInt64, with outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if outcome == .accepted { state.accepted += 1 } else { state.rejected += 1 }
            guard state.accepted + state.rejected >= state.goal else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits until this many submissions are answered.
    func reach(_ goal: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.accepted + state.rejected >= goal { return true }
                state.goal = goal
                state.waiter = continuation
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
