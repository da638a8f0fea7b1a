import ArgumentParser
import Testing

@testable import carillon

/// What `--help` prints in a terminal.
struct HelpWidthTests {
    @Test func `No help is wider than a terminal of 80 columns`() {
        #expect(Self.wideLines(Carillon.self) == [])
    }

    /// The lines of a command's help and of its subcommands' that are too wide. The parser itself does not wrap the usage, and it wraps
    /// other texts between words only, so that a long word makes a wide line.
    private static func wideLines(_ command: any ParsableCommand.Type) -> [String] {
        let help = Carillon.helpMessage(for: command, columns: 80)
        let lines = help.split(separator: "\n").filter { $0.count > 80 && !$0.hasPrefix("USAGE: ") }.map(String.init)
        return lines + command.configuration.subcommands.flatMap(wideLines)
    }
}
