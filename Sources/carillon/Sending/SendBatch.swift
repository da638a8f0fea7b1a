import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import Notifications

/// Sends a batch, and prints a line for each notification as it ends.
struct SendBatch: Sendable {
    private let lines: BatchLines
    private let bar = ProgressBar()
    private let started = ContinuousClock.now
    private let output: Output

    /// - Parameters:
    ///   - path: the file of the batch; `-` for standard input.
    ///   - defaults: the values for keys that a line does not have.
    init(path: String, defaults: PushRequest, output: Output) throws {
        self.output = output
        lines = try BatchLines(path: path, defaults: defaults)
    }

    func run(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: ProviderClient.Configuration,
    ) async throws {
        let (progress, isThere) = try await ProviderClient.withClient(
            credentials: credentials, environment: environment, configuration: configuration
        ) { client in
            do throws(ProviderError) {
                try await client.connect()
            } catch {
                return (try await answerAll(with: error), false)
            }
            let outcomes = client.send(requests: lines.notifications(reportingOthers: report))
            for try await outcome in outcomes {
                report(outcome.item, outcome.result)
                bar.show { line(outcomes.progress, read: lines.read) }
            }
            bar.end(leaving: line(outcomes.progress, read: lines.size ?? 0))
            return (outcomes.progress, true)
        }
        if !output.isJSON {
            let bad = lines.bad > 0 ? ", \(lines.bad) lines were not notifications" : ""
            Output.printDiagnostic("\(progress.accepted) accepted, \(progress.failed) failed\(bad).")
        }
        // If the server cannot be reached, the command fails even for an empty batch.
        guard isThere, progress.failed == 0, lines.bad == 0 else { throw ExitCode.failure }
    }

    /// Prints for all lines that the server cannot be reached. Nothing is sent, and standard error has the sentence
    /// only once.
    private func answerAll(with error: ProviderError) async throws -> SendProgress {
        Output.printDiagnostic(Advice.onFailure(error) ?? error.cause)
        var progress = SendProgress()
        for try await request in lines.notifications(reportingOthers: report) {
            progress.taken += 1
            progress.failed += 1
            // If the notification itself is invalid, that error is more useful.
            let problem = request.problem
            report(request, .failure(problem ?? error), inWords: problem != nil)
            bar.show { line(progress, read: lines.read) }
        }
        bar.end(leaving: line(progress, read: lines.size ?? 0))
        return progress
    }

    private func line(_ progress: SendProgress, read: Int) -> String {
        BatchProgressLine(progress, read: read, total: lines.size, after: ContinuousClock.now - started).description
    }

    /// - Parameter inWords: whether to explain the reasons on standard error as well.
    private func report(_ request: PushRequest, _ result: Result<PushReceipt, ProviderError>, inWords: Bool = true) {
        let answer = BatchAnswer(request, result)
        bar.asideFrom {
            switch result {
            case .success(let receipt):
                output.print(answer, "\(answer.token)  accepted: \(receipt.apnsID)")
            case .failure(let error):
                output.print(answer, "\(answer.token)  failed: \(error.cause)")
                if output.isJSON, inWords, error.rejection == nil {
                    Output.printDiagnostic("\(answer.token): \(error.cause)")
                }
            }
        }
    }

    private func report(_ line: BadBatchLine) {
        bar.asideFrom {
            // The note on standard error says everything that people need.
            output.print(BatchAnswer(line), nil)
            Output.printDiagnostic("Line \(line.number) is not a notification: \(line.cause).")
        }
    }
}
