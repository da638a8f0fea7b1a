import Foundation
import Synchronization

/// A program that a test has started.
///
/// It ends with the test: a test that is cancelled, by its time limit for one, kills what it waits for.
final class ChildProcess: Sendable {
    /// What a program left behind.
    struct Finished: Sendable {
        /// The exit status; 128 and the signal where a signal ended it, as shells say it.
        let status: Int32
        let output: String
        let errors: String
    }

    let output: OutputText
    let errors: OutputText
    private let process: Process
    private let ended: AsyncStream<Void>
    private let input: FileHandle?

    /// One program is started at a time, so that none inherits the ends of another one's pipes: those would show the
    /// end of an output only when both programs have ended.
    private static let starting = Mutex(())

    /// - Parameters:
    ///   - program: an absolute path, or a name to look for.
    ///   - environment: more variables. Those named `CARILLON_…` that this process has are not handed on.
    ///   - input: the whole standard input.
    ///   - staysOpen: keeps the standard input open instead, after `input` was written.
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
        // A program that has ended by now needs no input.
        if !input.isEmpty { try? writing.write(contentsOf: Data(input)) }
        if staysOpen {
            self.input = writing
        } else {
            self.input = nil
            try writing.close()
        }
    }

    /// A program gets the signal mask of the thread that starts it, and the threads that tests run on may have SIGTERM
    /// blocked.
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

    /// Waits for its end.
    func finished() async -> Finished {
        await withTaskCancellationHandler {
            for await _ in ended {}
        } onCancel: {
            signal(SIGKILL)
        }
        if Task.isCancelled {
            // The wait above ended early; what the test is worth is settled.
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

    /// Has a program running meanwhile, and kills it afterwards if it still runs.
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

    /// Runs a program to its end.
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
    /// Each line of the output as JSON.
    /// - Throws: where a line is something else.
    var objects: [JSONValue] {
        get throws {
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            return try lines.dropLast().map { try JSONValue($0) }
        }
    }

    /// The one line of the output as JSON.
    /// - Throws: where there are more or fewer, or it is something else.
    var object: JSONValue {
        get throws {
            let objects = try objects
            guard objects.count == 1, output.hasSuffix("\n") else {
                throw UnexpectedOutput(description: "expected one line of JSON: \(output.debugDescription) \(errors)")
            }
            return objects[0]
        }
    }
}

/// A program wrote something else than its contract says.
struct UnexpectedOutput: Error, CustomStringConvertible {
    let description: String
}
