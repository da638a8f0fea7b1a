import APNSProvider
import ArgumentParser
import Foundation
import Notifications

/// Sends a batch, and prints a line for each notification as it ends.
struct SendBatch: Sendable {
    private let lines: BatchLines
    private let bar = ProgressBar()
    private let started = ContinuousClock.now
    private let output: Output

    /// - Parameters:
    ///   - path: of the batch; `-` for standard input.
    ///   - defaults: what a line does not say.
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
            let outcomes = client.send(requests: lines.notifications(tellingOthers: tell))
            for try await outcome in outcomes {
                tell(outcome.item, outcome.result)
                bar.show { line(outcomes.progress, read: lines.read) }
            }
            bar.end(leaving: line(outcomes.progress, read: lines.size ?? 0))
            return (outcomes.progress, true)
        }
        if !output.isJSON {
            let bad = lines.bad > 0 ? ", \(lines.bad) lines were no notifications" : ""
            Output.note("\(progress.accepted) accepted, \(progress.failed) failed\(bad).")
        }
        // Without the server not even an empty batch is a success.
        guard isThere, progress.failed == 0, lines.bad == 0 else { throw ExitCode.failure }
    }

    /// The server is not there: standard error is told once, each notification on its line, and nothing is sent.
    private func answerAll(with error: ProviderError) async throws -> SendProgress {
        Output.note(error.cause + (Advice.onFailure(error.cause).map { " " + $0 } ?? ""))
        var progress = SendProgress()
        for try await request in lines.notifications(tellingOthers: tell) {
            progress.taken += 1
            progress.failed += 1
            // What no server could take is told as that.
            let problem = request.problem
            tell(request, .failure(problem ?? error), inWords: problem != nil)
            bar.show { line(progress, read: lines.read) }
        }
        bar.end(leaving: line(progress, read: lines.size ?? 0))
        return progress
    }

    private func line(_ progress: SendProgress, read: Int) -> String {
        BatchProgressLine(progress, read: read, total: lines.size, after: ContinuousClock.now - started).description
    }

    /// - Parameter inWords: whether standard error says what the names in a line of JSON do not.
    private func tell(_ request: PushRequest, _ result: Result<PushReceipt, ProviderError>, inWords: Bool = true) {
        let answer = BatchAnswer(request, result)
        bar.asideFrom {
            switch result {
            case .success(let receipt):
                output.print(answer, "\(answer.token)  accepted: \(receipt.apnsID)")
            case .failure(let error):
                output.print(answer, "\(answer.token)  failed: \(error.cause)")
                if output.isJSON, inWords, error.rejection == nil { Output.note("\(answer.token): \(error.cause)") }
            }
        }
    }

    private func tell(_ line: BadBatchLine) {
        bar.asideFrom {
            // For people the note says it all.
            output.print(BatchAnswer(line), nil)
            Output.note("Line \(line.number) is not a notification: \(line.cause).")
        }
    }
}
