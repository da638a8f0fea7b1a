import Foundation
import Subprocess
import Synchronization
import SystemPackage

/// Runs a program with a payload on its standard input, and never a shell.
package enum Program {
    /// How a program ended.
    package enum End: Sendable, Hashable, CustomStringConvertible {
        case exited(Int32)
        case signaled(Int32)
        case timedOut
        case notStarted(String)

        package var isSuccess: Bool { self == .exited(0) }

        package var description: String {
            switch self {
            case .exited(let status): "it ended with the status \(status)"
            case .signaled(let number): "the signal \(number) ended it"
            case .timedOut: "it took too long and was ended"
            case .notStarted(let cause): "it could not be started: \(cause)"
            }
        }
    }

    /// The payloads that fit into a pipe, in bytes: the kernel's default (pipe(7)). So writing never waits for a program
    /// that does not read.
    package static let inputBytes = 65_536

    /// Runs a program and waits for its end. It has a process group of its own. After the limit, or when the task is
    /// cancelled, the group gets SIGTERM, and then SIGKILL, even if the program itself ended after the first.
    /// - Parameters:
    ///   - command: the program, a path or a name in the search path, and its arguments.
    ///   - environment: all of its environment.
    ///   - folder: its working directory.
    ///   - input: all of its standard input.
    package static func run(
        _ command: [String],
        environment: [String: String],
        folder: String = "/",
        input: [UInt8],
        limit: Duration,
    ) async -> End {
        await run(
            command, environment: environment, folder: folder, input: input, limit: limit, output: nil, processes: nil,
            of: nil)
    }

    /// - Parameters:
    ///   - output: takes what the program prints; nil if that is this process's standard error.
    ///   - processes: learns of the program; nil if nobody does.
    ///   - bundleID: the app whose command it is. The program then has a session of its own.
    static func run(
        _ command: [String],
        environment: [String: String],
        folder: String = "/",
        input: [UInt8],
        limit: Duration,
        output: PrintedOutput?,
        processes: CommandProcesses?,
        of bundleID: String?,
    ) async -> End {
        guard let program = command.first else { return .notStarted("no program is named") }
        guard input.count <= inputBytes else { return .notStarted("the payload has \(input.count) bytes") }
        let pipe: (readEnd: FileDescriptor, writeEnd: FileDescriptor)
        do {
            pipe = try FileDescriptor.pipe()
            _ = try pipe.writeEnd.writeAll(input)
            try pipe.writeEnd.close()
        } catch {
            return .notStarted("\(error)")
        }
        var options = PlatformOptions()
        if bundleID == nil { options.processGroupID = 0 } else { options.createSession = true }
        options.teardownSequence = [
            .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: AgentLimits.ending),
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: AgentLimits.ending),
        ]
        let variables = environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
        let configuration = Configuration(
            // As a shell does: a name without a path is looked up.
            executable: program.contains("/") ? .path(FilePath(folder).pushing(FilePath(program))) : .name(program),
            arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)), workingDirectory: FilePath(folder),
            platformOptions: options)
        let group = Mutex<pid_t?>(nil)
        let printed = output?.writeEnd ?? .standardError
        processes?.starts()
        let running = Task { () throws -> End in
            let result = try await Subprocess.run(
                configuration, input: .fileDescriptor(pipe.readEnd, closeAfterSpawningProcess: true),
                output: .fileDescriptor(printed, closeAfterSpawningProcess: false),
                error: .fileDescriptor(printed, closeAfterSpawningProcess: false)
            ) { execution in
                let process = execution.processIdentifier.value
                group.withLock { $0 = process }
                processes?.started(process, of: bundleID)
            }
            return switch result.terminationStatus {
            case .exited(let status): .exited(status)
            case .signaled(let number): .signaled(number)
            }
        }
        let timer = Task { () -> Bool in
            // A program does not run while the machine is suspended, so that time does not count.
            guard (try? await Task.sleep(for: limit, clock: .suspending)) != nil else { return false }
            running.cancel()
            return true
        }
        let end: Result<End, any Error> = await withTaskCancellationHandler {
            await running.result
        } onCancel: {
            running.cancel()
        }
        timer.cancel()
        processes?.ended(group.withLock(\.self))
        await output?.ended()
        let isTimedOut = await timer.value
        if isTimedOut || Task.isCancelled, let group = group.withLock(\.self) { await endRest(of: group) }
        if isTimedOut { return .timedOut }
        switch end {
        case .success(let end): return end
        case .failure(let error): return .notStarted("\(error)")
        }
    }

    /// The teardown of swift-subprocess stops when the program has ended. What it had started may ignore SIGTERM. The group has this number as long
    /// as a process is in it.
    private static func endRest(of group: pid_t) async {
        // This task may be cancelled, and then it cannot sleep.
        await Task {
            let end = ContinuousClock.now + AgentLimits.ending
            while kill(-group, 0) == 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(50)) }
            kill(-group, SIGKILL)
        }.value
    }
}
