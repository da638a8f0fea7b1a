import Foundation
import Synchronization

/// A bar on standard error while something takes its time; nothing where that is no terminal.
final class ProgressBar: Sendable {
    private static let width = 30
    private static let pause = Duration.milliseconds(100)

    private let title: String
    private let count: Int
    private let isShown: Bool
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    init(_ title: String, count: Int, isQuiet: Bool = false) {
        self.title = title
        self.count = max(1, count)
        isShown = !isQuiet && isatty(STDERR_FILENO) == 1
    }

    /// Shows how many are done, not more often than the eye can follow.
    func show(_ done: Int) {
        guard isShown else { return }
        let isDue = last.withLock { last in
            let now = ContinuousClock.now
            if done < count, let last, now - last < Self.pause { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let filled = min(Self.width, done * Self.width / count)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        write("\r\(title)  \(bar)  \(done) of \(count)")
    }

    /// Takes the bar away.
    func end() {
        if isShown { write("\r\u{1b}[K") }
    }

    private func write(_ text: String) {
        // Where nobody reads it, nobody misses it.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
