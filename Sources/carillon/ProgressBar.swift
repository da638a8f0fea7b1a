import Foundation
import Synchronization

/// A line on standard error that is drawn again and again while something takes its time; nothing if standard error is no
/// terminal.
final class ProgressBar: Sendable {
    /// Drawn no more often: the eye cannot follow, and a terminal is slow.
    private static let interval = Duration.milliseconds(100)
    private static let width = 30
    /// Goes to the beginning of the line and empties it.
    private static let erased = "\r\u{1b}[K"

    private struct State {
        var drawn: ContinuousClock.Instant?
        /// Whether the terminal's last line is this one.
        var isVisible = false
    }

    private let isShown: Bool
    private let state = Mutex(State())

    init(isQuiet: Bool = false) { isShown = !isQuiet && isatty(STDERR_FILENO) == 1 }

    /// - Parameter share: from 0 to 1.
    static func bar(_ share: Double) -> String {
        let filled = Int(min(max(share, 0), 1) * Double(width))
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    /// Draws the text, unless another one was drawn just before.
    func show(_ text: () -> String) {
        guard isShown else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            if let drawn = state.drawn, now - drawn < Self.interval { return }
            state = State(drawn: now, isVisible: true)
            Self.write(Self.erased + text())
        }
    }

    /// Draws how many of so many are done.
    func show(_ title: String, _ done: Int, of count: Int) {
        show { "\(title)  \(Self.bar(Double(done) / Double(max(1, count))))  \(done) of \(count)" }
    }

    /// Takes the line away.
    /// - Parameter text: what is left in its place.
    func end(leaving text: String? = nil) {
        guard isShown else { return }
        state.withLock { state in
            state.isVisible = false
            Self.write(Self.erased + (text.map { $0 + "\n" } ?? ""))
        }
    }

    /// Writes something else, which would otherwise stand behind the text on its line.
    func asideFrom(_ body: () -> Void) {
        state.withLock { state in
            if state.isVisible { Self.write(Self.erased) }
            state.isVisible = false
            body()
        }
    }

    private static func write(_ text: String) {
        // If nobody reads it, nobody misses it.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
