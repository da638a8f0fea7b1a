import Foundation
import Synchronization

/// A line on standard error that is drawn again and again during long work. It is not drawn if standard error is not a
/// terminal.
final class ProgressBar: Sendable {
    /// The shortest time between two drawings. People do not see more, and terminals are slow.
    private static let interval = Duration.milliseconds(100)
    private static let width = 30
    /// The control characters that go to the beginning of the line and erase it.
    private static let erased = "\r\u{1b}[K"

    private struct State {
        var drawn: ContinuousClock.Instant?
        /// Whether the line is on the terminal now.
        var isVisible = false
    }

    private let isShown: Bool
    private let state = Mutex(State())

    init(isQuiet: Bool = false) { isShown = !isQuiet && isatty(STDERR_FILENO) == 1 }

    /// - Parameter share: from 0 to 1.
    static func bar(_ share: Double) -> String {
        let filled = Int(min(max(share, 0), 1) * Double(width))  // fits: at most the bar's width
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    /// Draws the text, unless it was drawn less than the interval ago.
    func show(_ text: () -> String) {
        guard isShown else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            if let drawn = state.drawn, now - drawn < Self.interval { return }
            state = State(drawn: now, isVisible: true)
            Self.write(Self.erased + text())
        }
    }

    /// Draws how many of all items are done.
    func show(_ title: String, _ done: Int, of count: Int) {
        show { "\(title)  \(Self.bar(Double(done) / Double(max(1, count))))  \(done) of \(count)" }
    }

    /// Erases the line.
    /// - Parameter text: written in its place.
    func end(leaving text: String? = nil) {
        guard isShown else { return }
        state.withLock { state in
            state.isVisible = false
            Self.write(Self.erased + (text.map { $0 + "\n" } ?? ""))
        }
    }

    /// Writes something else. Erases the progress line before, so that the two do not mix.
    func asideFrom(_ body: () -> Void) {
        state.withLock { state in
            if state.isVisible { Self.write(Self.erased) }
            state.isVisible = false
            body()
        }
    }

    private static func write(_ text: String) {
        // Ignore a failure: nobody could be told about it.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
