import Foundation
import Synchronization

/// A program that a test has started.
///
/// It ends with the test: if a test is cancelled, for example by its time limit, the program is killed.
final class ChildProcess: Sendable {
    /// The result of a program.
    struct Finished: Sendable {
        /// The exit status. If a signal ended it, 128 and the signal's number, as in shells.
        let status: Int32
        let output: String
        let errors: String
    }

    let output: OutputText
    let errors: OutputText
    private let process: Process
    private let ended: AsyncStream<Void>
    private let input: FileHandle?

    /// Programs are started one at a time, so that none inherits the ends of another's pipes. Otherwise the end of an
    /// output would only be seen when both programs have ended.
    private static let starting = Mutex(())

    /// - Parameters:
    ///   - program: an absolute path, or a name to search for.
    ///   - environment: additional variables. This process's own `CARILLON_…` variables are not passed on.
    ///   - input: the whole standard input.
    ///   - staysOpen: keeps the standard input open after `input` was written.
    init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        input: [UInt8] = [],
        staysOpen: Bool = false,
    ) throws {
        let process = Process()
        if program.hasPrefix("/") {
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program] + arguments
        }
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CARILLON_") }
        process.environment = inherited.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        let pipes = try Self.starting.withLock { _ in
            let (output, errors, input) = (Pipe(), Pipe(), Pipe())
            process.standardOutput = output
            process.standardError = errors
            process.standardInput = input
            try Self.start(process)
            return (output: output, errors: errors, input: input)
        }
        self.process = process
        self.ended = ended
        output = OutputText(reading: pipes.output.fileHandleForReading)
        errors = OutputText(reading: pipes.errors.fileHandleForReading)
        let writing = pipes.input.fileHandleForWriting
        // A program that has ended needs no input.
        if !input.isEmpty { try? writing.write(contentsOf: Data(input)) }
        if staysOpen {
            self.input = writing
        } else {
            self.input = nil
            try writing.close()
        }
    }

    /// A program inherits the signal mask of the thread that starts it, and SIGTERM may be blocked in threads of tests.
    static func start(_ process: Process) throws {
        var (none, previous) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        try process.run()
    }

    /// Adds to a standard input that stays open.
    func type(_ text: String) throws { try input?.write(contentsOf: Data(text.utf8)) }

    var processID: Int32 { process.processIdentifier }

    /// Sends a signal to this one program.
    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits until the program has ended.
    func finished() async -> Finished {
        await withTaskCancellationHandler {
            for await _ in ended {}
        } onCancel: {
            signal(SIGKILL)
        }
        if Task.isCancelled {
            // The wait ended early because the test was cancelled.
            return Finished(status: -1, output: output.text, errors: errors.text)
        }
        await output.end()
        await errors.end()
        let status = process.terminationStatus
        return Finished(
            status: process.terminationReason == .uncaughtSignal ? 128 + status : status,
            output: output.text,
            errors: errors.text,
        )
    }

    /// Runs a program while `body` runs. Afterwards kills it if it still runs.
    static func with<Result>(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        staysOpen: Bool = false,
        _ body: (ChildProcess) async throws -> Result,
    ) async throws -> Result {
        let child = try ChildProcess(
            program, arguments, environment: environment, folder: folder, staysOpen: staysOpen)
        do {
            let result = try await body(child)
            child.signal(SIGKILL)
            _ = await child.finished()
            return result
        } catch {
            child.signal(SIGKILL)
            _ = await child.finished()
            throw error
        }
    }

    /// Runs a program and waits for its end.
    static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        input: [UInt8] = [],
    ) async throws -> Finished {
        let child = try ChildProcess(
            program, arguments, environment: environment, folder: folder, input: input)
        return await child.finished()
    }

    /// Whether a program is installed.
    static func isInstalled(_ name: String) -> Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
}

extension ChildProcess.Finished {
    /// The lines of the output as JSON.
    /// - Throws: if a line is not JSON.
    var objects: [FoundationJSON] {
        get throws {
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            return try lines.dropLast().map { try FoundationJSON($0) }
        }
    }

    /// The single line of the output as JSON.
    /// - Throws: if there is not exactly one line, or if it is not JSON.
    var object: FoundationJSON {
        get throws {
            let objects = try objects
            guard objects.count == 1, output.hasSuffix("\n") else {
                throw UnexpectedOutput(description: "expected one line of JSON: \(output.debugDescription) \(errors)")
            }
            return objects[0]
        }
    }
}

/// The output does not have the form of the contract.
struct UnexpectedOutput: Error, CustomStringConvertible {
    let description: String
}
