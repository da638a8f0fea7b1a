import Foundation
import Subprocess
import Synchronization

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A program that swift-subprocess has started (docs/decisions/0057-programs-of-tests.md). It inherits the three
/// descriptors that it is given and no other, and no signal mask.
///
/// Subprocess returns the exit status when the whole run has ended. So a task of its own has the run, and a test can
/// ask for the status at any time.
package final class RunningProgram: Sendable {
    package let processID: Int32
    private let run: Task<Int32, any Error>
    private let end: End

    /// Whether the program has ended.
    private final class End: Sendable {
        let isReached = Mutex(false)
    }

    /// - Parameters:
    ///   - program: an absolute path, or a name to search for.
    ///   - environment: additional variables. This process's own `CARILLON_…` variables are not passed on.
    ///   - streams: the descriptors of standard input, output and errors. They stay open here.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        streams: (input: Int32, output: Int32, errors: Int32),
    ) async throws {
        guard !TestRun.isFast else { throw ProgramInFastTests() }
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CARILLON_") }
        let variables = inherited.merging(environment) { $1 }.map { (Environment.Key(stringLiteral: $0), $1) }
        let configuration = Configuration(
            executable: program.hasPrefix("/") ? .path(FilePath(program)) : .name(program),
            arguments: Arguments(arguments),
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)),
            workingDirectory: folder.map { FilePath($0) })
        let (started, start) = AsyncStream.makeStream(of: Int32.self)
        let end = End()
        let (input, output) = (FileDescriptor(rawValue: streams.input), FileDescriptor(rawValue: streams.output))
        let errors = FileDescriptor(rawValue: streams.errors)
        let run = Task {
            defer {
                end.isReached.withLock { $0 = true }
                start.finish()
            }
            let result = try await Subprocess.run(
                configuration,
                input: .fileDescriptor(input, closeAfterSpawningProcess: false),
                output: .fileDescriptor(output, closeAfterSpawningProcess: false),
                error: .fileDescriptor(errors, closeAfterSpawningProcess: false),
            ) { execution in
                start.yield(execution.processIdentifier.value)
            }
            return switch result.terminationStatus {
            case .exited(let status): status
            case .signaled(let number): 128 + number
            }
        }
        // A cancelled task would not wait for the stream, and nobody would end the program.
        let first = await Task { await started.first { _ in true } }.value
        guard let first else {
            _ = try await run.value
            throw CancellationError()
        }
        processID = first
        self.run = run
        self.end = end
    }

    private struct ProgramInFastTests: Error, CustomStringConvertible {
        let description = "This test starts a program, so it needs the trait .startsPrograms."
    }

    package var isRunning: Bool { end.isReached.withLock { !$0 } }

    /// Sends a signal to this one program, if it still runs.
    package func signal(_ number: Int32) {
        if isRunning { kill(processID, number) }
    }

    /// The exit status, once the program has ended. If a signal ended it, 128 and the signal's number, as in shells.
    ///
    /// If the task that waits is cancelled, for example by its time limit, the program is killed.
    package var status: Int32 {
        get async {
            await withTaskCancellationHandler {
                // The run of a program that was started throws only if the system does not say how it ended.
                (try? await run.value) ?? -1
            } onCancel: {
                signal(SIGKILL)
            }
        }
    }
}
