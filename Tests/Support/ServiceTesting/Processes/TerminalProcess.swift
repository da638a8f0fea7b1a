import CommonTesting
import Foundation

/// A program on a pseudo-terminal, whose other end the test has.
///
/// It ends with the test, like `ChildProcess`.
final class TerminalProcess: Sendable {
    /// The text on the screen.
    let screen: OutputText
    private let running: RunningProgram
    /// The person's end.
    private let person: Int32
    /// The program's end, kept open so that its settings can be read.
    private let program: Int32

    private init(_ path: String, _ arguments: [String], columns: UInt16) async throws {
        person = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard person >= 0, let name = Self.otherEnd(of: person) else {
            throw NoTerminal(description: String(cString: strerror(errno)))
        }
        program = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard program >= 0 else { throw NoTerminal(description: String(cString: strerror(errno))) }
        var size = winsize(ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(person, UInt(TIOCSWINSZ), &size) == 0 else {
            throw NoTerminal(description: String(cString: strerror(errno)))
        }
        running = try await RunningProgram(path, arguments, streams: (program, program, program))
        screen = OutputText(reading: dup(person))
    }

    /// Returns the path of the terminal's other end, which the program uses, and unlocks it so that it can be opened.
    private static func otherEnd(of person: Int32) -> String? {
        #if os(Linux)
            // This is what glibc's unlockpt and ptsname do, which Swift cannot call: TIOCSPTLCK and TIOCGPTN
            // (ioctl_tty(2)).
            var (locked, number) = (Int32(0), UInt32(0))
            guard ioctl(person, 0x4004_5431, &locked) == 0, ioctl(person, 0x8004_5430, &number) == 0 else { return nil }
            return "/dev/pts/\(number)"
        #else
            guard grantpt(person) == 0, unlockpt(person) == 0 else { return nil }
            return ptsname(person).map { String(cString: $0) }
        #endif
    }

    /// Presses a key.
    func press(_ key: Character) {
        var bytes = Array(String(key).utf8)
        // If the program has ended, the test notices that elsewhere.
        _ = write(person, &bytes, bytes.count)
    }

    /// The next line on the screen with the text; nil if the program ends first.
    func line(with text: String) async -> String? {
        while let line = await screen.nextLine() {
            if line.contains(text) { return line }
        }
        return nil
    }

    /// Whether the terminal has its usual settings: it shows what is typed, and passes it on line by line.
    var isAsUsual: Bool {
        var settings = termios()
        guard tcgetattr(program, &settings) == 0 else { return false }
        let usual = tcflag_t(ICANON | ECHO)
        return settings.c_lflag & usual == usual
    }

    /// Waits for the program's end, and returns its exit status.
    func finished() async -> Int32 {
        await running.status
    }

    /// Runs a program on a terminal while `body` runs. Afterwards kills it if it still runs.
    static func with<Result>(
        _ path: String,
        _ arguments: [String],
        columns: UInt16 = 60,
        _ body: (TerminalProcess) async throws -> Result,
    ) async throws -> Result {
        let terminal = try await TerminalProcess(path, arguments, columns: columns)
        return try await withCleanUp {
            try await body(terminal)
        } cleanUp: {
            terminal.running.signal(SIGKILL)
            _ = await terminal.finished()
            // Close both ends, so that the reader of the screen ends.
            close(terminal.program)
            close(terminal.person)
        }
    }

    private struct NoTerminal: Error, CustomStringConvertible {
        let description: String
    }
}
