import ArgumentParser
import CommandSupport
import DeviceAgent
import Foundation

extension DeviceAgentCommand {
    /// Becomes the command of an app, without access to the agent's files. The agent calls it; it is not for people.
    struct Confine: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run a program that cannot read some files and folders.", shouldDisplay: false)

        /// The words with which this process was started to run the agent, and this command instead.
        static var start: [String] {
            let words = Array(ProcessArguments.all.dropFirst().prefix { !$0.hasPrefix("-") })
            return words.filter { $0 != "run" } + [_commandName]
        }

        @Argument(help: "The number of paths to hide.")
        var count: Int

        @Argument(parsing: .captureForPassthrough, help: "The paths, and then the program and its arguments.")
        var words: [String]

        func run() throws {
            do {
                try Confinement.hide(Array(words.prefix(max(0, count))))
            } catch {
                throw CommandError("The command of an app does not run, because \(error).")
            }
            let command = words.dropFirst(max(0, count))
            guard let program = command.first else { throw CommandError("No program is named.") }
            Self.closeFilesAtStart()
            var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
            arguments.append(nil)
            execv(program, arguments)
            throw CommandError("\(program) cannot be run: \(String(cString: strerror(errno))).")
        }

        /// The program gets no file of this process but its input, output and errors. An event loop has one. Without /proc the
        /// program runs all the same: such a file gives it no access to anything.
        private static func closeFilesAtStart() {
            let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            for descriptor in open.compactMap({ Int32($0, radix: 10) }) where descriptor > STDERR_FILENO {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            }
        }
    }
}
