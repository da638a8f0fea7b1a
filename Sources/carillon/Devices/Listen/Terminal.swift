import Foundation

/// The user's terminal.
enum Terminal {
    /// Whether standard input and output are a terminal.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Whether to read keys from standard input although it is not a terminal, such as a file or a pipe. A terminal
    /// is not read in this case, because that would stop a program in the background.
    static var hasScript: Bool { isatty(STDIN_FILENO) == 0 }

    /// The terminal's width in columns; 80 if it is not known.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)  // fits: 16 bits
    }

    /// Makes the terminal deliver each key at once, without showing it. The result is for ``restore(_:)``, which ends
    /// this.
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

    /// The keys as they are pressed. A separate thread reads them until the process ends.
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
