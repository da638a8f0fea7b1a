import Foundation

/// The terminal that a person sits at.
enum Terminal {
    /// Whether keys can be read and what is drawn is seen.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Whether keys can be read from standard input although it is not a terminal. A terminal stops a background program that
    /// reads from it.
    static var hasScript: Bool { isatty(STDIN_FILENO) == 0 }

    /// How wide it is; 80 where it does not tell.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Has keys come one by one, without their being shown, until the result is given to ``restore(_:)``.
    static func readSingleKeys() -> termios? {
        var old = termios()
        guard tcgetattr(STDIN_FILENO, &old) == 0 else { return nil }
        var new = old
        new.c_lflag &= ~tcflag_t(ICANON | ECHO)
        return tcsetattr(STDIN_FILENO, TCSANOW, &new) == 0 ? old : nil
    }

    static func restore(_ settings: termios?) {
        if var settings { tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
    }

    /// The keys as they are pressed. A thread of its own waits for them, and ends with the process.
    static var keys: AsyncStream<UInt8> {
        AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
            Thread.detachNewThread {
                var key: UInt8 = 0
                while read(STDIN_FILENO, &key, 1) == 1 { continuation.yield(key) }
                continuation.finish()
            }
        }
    }
}
