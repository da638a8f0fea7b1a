import Foundation

/// The arguments with which this process was started.
package enum ProcessArguments {
    /// The program's name and its arguments. Empty if neither Swift nor the system knows them, which is never so for a
    /// program that was started with a name.
    package static let all = arguments(CommandLine.arguments, system: systemArguments)

    /// The name with which the program was started, for commands that a person can paste.
    /// - Parameter usual: the name if the system does not know it.
    package static func program(usual: String) -> String { all.first ?? usual }

    /// Where Linux has the arguments of a process (proc_pid_cmdline(5)).
    private static let file = "/proc/self/cmdline"

    /// Chooses between what Swift has found and what the system says.
    ///
    /// Swift's library looks for the arguments beside the environment on the stack. If a library of LD_PRELOAD calls
    /// `setenv` before that, the environment lies elsewhere, and a program that has Swift's library inside finds nothing.
    static func arguments(_ found: [String], system: () -> [UInt8]?) -> [String] {
        guard found.isEmpty, let bytes = system() else { return found }
        // A zero byte ends each argument.
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func systemArguments() -> [UInt8]? {
        // If the file is missing, as on other systems, only what Swift has found is known.
        guard let handle = FileHandle(forReadingAtPath: file), let bytes = try? handle.readToEnd() else { return nil }
        return Array(bytes)
    }
}
