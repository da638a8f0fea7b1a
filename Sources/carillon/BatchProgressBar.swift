import APNSProvider
import Foundation
import Synchronization

/// How far a batch is, on standard error when a person looks at it.
final class BatchProgressBar: Sendable {
    /// Drawn no more often: a terminal is slow.
    private static let interval = Duration.milliseconds(100)

    private struct State {
        var drawn: ContinuousClock.Instant?
        /// Whether the bar stands on the terminal's last line.
        var isVisible = false
    }

    private let total: Int?
    private let isShown: Bool
    private let started = ContinuousClock.now
    private let state = Mutex(State())

    /// - Parameter total: in bytes of the batch; nil where that is not known.
    init(total: Int?) {
        self.total = total
        isShown = isatty(STDERR_FILENO) == 1
    }

    /// - Parameter read: in bytes of the batch.
    func show(_ progress: SendProgress, read: Int) {
        guard isShown else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            if let drawn = state.drawn, now - drawn < Self.interval { return }
            state.drawn = now
            state.isVisible = true
            Self.write(BatchProgressLine(progress, read: read, total: total, after: now - started).drawn)
        }
    }

    /// Draws it for the last time.
    func end(_ progress: SendProgress) {
        guard isShown else { return }
        let line = BatchProgressLine(progress, read: total ?? 0, total: total, after: ContinuousClock.now - started)
        state.withLock { state in
            state.isVisible = false
            Self.write(line.drawn + "\n")
        }
    }

    /// Writes something else, which would otherwise stand behind the bar on its line.
    func asideFrom(_ body: () -> Void) {
        state.withLock { state in
            if state.isVisible { Self.write(BatchProgressLine.erased) }
            state.isVisible = false
            body()
        }
    }

    private static func write(_ text: String) {
        // Where nobody reads it, nobody misses it.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

/// The bar's text.
struct BatchProgressLine: CustomStringConvertible {
    private static let width = 30
    /// Goes to the beginning of the line and empties it.
    static let erased = "\r\u{1b}[K"

    let description: String

    /// - Parameters:
    ///   - read: in bytes of the batch.
    ///   - total: in bytes of the batch; nil where that is not known: then there are the counts alone.
    ///   - time: since it began.
    init(_ progress: SendProgress, read: Int, total: Int?, after time: Duration) {
        let seconds = max(0.001, time / .seconds(1))
        let rate = Int((Double(progress.ended) / seconds).rounded())
        let counts = "\(progress.ended) sent, \(progress.failed) failed, \(rate)/s"
        guard let total, total > 0, progress.taken > 0 else {
            description = counts
            return
        }
        // What is read, less what is under way.
        let share = min(1, Double(read) / Double(total) * Double(progress.ended) / Double(progress.taken))
        let filled = Int(share * Double(Self.width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        description = "\(bar) \(Int(share * 100)) %  \(counts)"
    }

    /// In the place of what stood on the line.
    var drawn: String { Self.erased + description }
}
