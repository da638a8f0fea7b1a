import Foundation
import Synchronization

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A program that a test has started, on pipes.
///
/// It ends with the test: if a test is cancelled, for example by its time limit, the program is killed.
package final class ChildProcess: Sendable {
    /// The result of a program.
    package struct Finished: Sendable {
        /// The exit status. If a signal ended it, 128 and the signal's number, as in shells.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    package let output: OutputText
    package let errors: OutputText
    private let program: RunningProgram
    /// The writing end of the standard input; nil after it was closed.
    private let input: Mutex<FileDescriptor?>

    /// Writing to a program that has ended is an error, and no signal.
    private static let ignoresBrokenPipes: Void = { _ = Foundation.signal(SIGPIPE, SIG_IGN) }()

    /// - Parameters:
    ///   - program: an absolute path, or a name to search for.
    ///   - environment: additional variables. This process's own `CARILLON_…` variables are not passed on.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
    ) async throws {
        Self.ignoresBrokenPipes
        let (input, output, errors) = (
            try FileDescriptor.pipe(), try FileDescriptor.pipe(), try FileDescriptor.pipe()
        )
        let run: Result<RunningProgram, any Error>
        do {
            run = .success(
                try await RunningProgram(
                    program, arguments, environment: environment, folder: folder,
                    streams: (input.readEnd.rawValue, output.writeEnd.rawValue, errors.writeEnd.rawValue)))
        } catch {
            run = .failure(error)
        }
        // The program has its own copies of these.
        for end in [input.readEnd, output.writeEnd, errors.writeEnd] { try? end.close() }
        if case .failure = run {
            for end in [input.writeEnd, output.readEnd, errors.readEnd] { try? end.close() }
        }
        self.program = try run.get()
        self.input = Mutex(input.writeEnd)
        self.output = OutputText(reading: output.readEnd.rawValue)
        self.errors = OutputText(reading: errors.readEnd.rawValue)
    }

    /// A standard input that was left open ends with the last reference.
    deinit { closeInput() }

    /// Adds to the standard input.
    /// - Throws: if the program has ended.
    package func type(_ text: String) throws { try type(Array(text.utf8)) }

    package func type(_ bytes: [UInt8]) throws {
        _ = try input.withLock { try $0?.writeAll(bytes) }
    }

    /// Ends the standard input.
    package func closeInput() {
        input.withLock { input in
            try? input?.close()
            input = nil
        }
    }

    package var processID: Int32 { program.processID }

    package var isRunning: Bool { program.isRunning }

    /// Sends a signal to this one program.
    package func signal(_ number: Int32) { program.signal(number) }

    /// Waits until the program has ended.
    package func finished() async -> Finished {
        let status = await program.status
        await output.end()
        await errors.end()
        return Finished(status: status, output: output.text, errors: errors.text)
    }

    /// Runs a program while `body` runs. Afterwards kills it if it still runs.
    /// - Parameter staysOpen: keeps the standard input open.
    package static func with<Result>(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        staysOpen: Bool = false,
        _ body: (ChildProcess) async throws -> Result,
    ) async throws -> Result {
        let child = try await ChildProcess(program, arguments, environment: environment, folder: folder)
        if !staysOpen { child.closeInput() }
        return try await withCleanUp {
            try await body(child)
        } cleanUp: {
            child.signal(SIGKILL)
            _ = await child.finished()
        }
    }

    /// Runs a program and waits for its end.
    /// - Parameter input: the whole standard input.
    package static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        input: [UInt8] = [],
    ) async throws -> Finished {
        let child = try await ChildProcess(program, arguments, environment: environment, folder: folder)
        // A thread writes, because the program may read slowly, or answer before it has read everything.
        Thread.detachNewThread {
            if !input.isEmpty { try? child.type(input) }  // A program that has ended needs no input.
            child.closeInput()
        }
        return await child.finished()
    }

    /// Whether a program is installed.
    package static func isInstalled(_ name: String) -> Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
}
