import APNSProvider
import ArgumentParser
import Foundation
import Notifications

/// Sends a batch, and prints a line for each notification as it ends.
struct SendBatch: Sendable {
    private let lines: BatchLines
    private let bar: BatchProgressBar
    private let output: Output

    /// - Parameters:
    ///   - path: of the batch; `-` for standard input.
    ///   - defaults: what a line does not say.
    init(path: String, defaults: PushRequest, output: Output) throws {
        self.output = output
        lines = try BatchLines(path: path, defaults: defaults)
        bar = BatchProgressBar(total: lines.size)
    }

    func run(
        credentials: ProviderCredentials,
        environment: APNSEnvironment,
        configuration: ProviderClient.Configuration,
    ) async throws {
        let progress = try await ProviderClient.withClient(
            credentials: credentials, environment: environment, configuration: configuration
        ) { client in
            // A server that is not there is told once, and not for each line.
            try await client.connect()
            let outcomes = client.send(requests: lines.notifications(tellingOthers: tell))
            for try await outcome in outcomes {
                tell(outcome)
                bar.show(outcomes.progress, read: lines.read)
            }
            bar.end(outcomes.progress)
            return outcomes.progress
        }
        if !output.isJSON {
            let bad = lines.bad > 0 ? ", \(lines.bad) lines were no notifications" : ""
            Output.note("\(progress.accepted) accepted, \(progress.failed) failed\(bad).")
        }
        guard progress.failed == 0, lines.bad == 0 else { throw ExitCode.failure }
    }

    private func tell(_ outcome: PushOutcome<PushRequest>) {
        let answer = BatchAnswer(outcome)
        bar.asideFrom {
            switch outcome.result {
            case .success(let receipt):
                output.print(answer, "\(answer.token)  accepted: \(receipt.apnsID)")
            case .failure(let error):
                output.print(answer, "\(answer.token)  failed: \(error.cause)")
                if output.isJSON, error.rejection == nil { Output.note("\(answer.token): \(error.cause)") }
            }
        }
    }

    private func tell(_ line: BadBatchLine) {
        bar.asideFrom {
            // For people the note says it all.
            output.print(BatchAnswer(line), nil)
            Output.note("Line \(line.number) is no notification: \(line.cause).")
        }
    }
}
