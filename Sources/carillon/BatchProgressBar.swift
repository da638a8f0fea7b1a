import APNSProvider
import Foundation

/// How far a batch is, on standard error when a person looks at it.
final class BatchProgressBar {
    private static let width = 30
    /// Drawn no more often: a terminal is slow.
    private static let interval = Duration.milliseconds(100)

    private let total: Int?
    private let started = ContinuousClock.now
    private var drawn: ContinuousClock.Instant?

    /// - Parameter total: in bytes of the batch; nil where that is not known.
    /// - Returns: nil when standard error is no terminal.
    init?(total: Int?) {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        self.total = total
    }

    /// - Parameter read: in bytes of the batch.
    func show(_ progress: SendProgress, read: Int) {
        let now = ContinuousClock.now
        if let drawn, now - drawn < Self.interval { return }
        drawn = now
        draw(Self.line(progress, read: read, total: total, after: now - started), end: "")
    }

    func end(_ progress: SendProgress) {
        draw(Self.line(progress, read: total ?? 0, total: total, after: ContinuousClock.now - started), end: "\n")
    }

    /// The share of the batch that is read, less what is under way.
    static func line(_ progress: SendProgress, read: Int, total: Int?, after time: Duration) -> String {
        let seconds = max(0.001, Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18)
        let rate = Int((Double(progress.ended) / seconds).rounded())
        let counts = "\(progress.ended) sent, \(progress.failed) failed, \(rate)/s"
        guard let total, total > 0, progress.taken > 0 else { return counts }
        let share = min(1, Double(read) / Double(total) * Double(progress.ended) / Double(progress.taken))
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(bar) \(Int(share * 100)) %  \(counts)"
    }

    private func draw(_ line: String, end: String) {
        // Where nobody reads it, nobody misses it.
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1b}[K\(line)\(end)".utf8))
    }
}
