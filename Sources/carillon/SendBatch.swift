import APNSProvider
import ArgumentParser
import Foundation
import Notifications

/// Sends a batch, and prints a line for each notification as it ends.
struct SendBatch {
    let lines: BatchLines
    let output: Output

    func run(credentials: ProviderCredentials, environment: APNSEnvironment) async throws {
        let progress = try await ProviderClient.withClient(credentials: credentials, environment: environment) {
            client in
            // A server that is not there is told once, and not for each line.
            try await client.connect()
            let outcomes = client.send(requests: lines)
            let bar = BatchProgressBar(total: lines.size)
            for try await outcome in outcomes {
                print(outcome)
                bar?.show(outcomes.progress, read: lines.read)
            }
            bar?.end(outcomes.progress)
            return outcomes.progress
        }
        if !output.isJSON {
            let bad = lines.bad > 0 ? ", \(lines.bad) lines were no notifications" : ""
            Output.note("\(progress.accepted) accepted, \(progress.failed) failed\(bad).")
        }
        guard progress.failed == 0, lines.bad == 0 else { throw ExitCode.failure }
    }

    private func print(_ outcome: PushOutcome<PushRequest>) {
        let token = outcome.item.deviceToken
        switch outcome.result {
        case .success(let receipt):
            output.print(Line(token: token, id: receipt.apnsID, status: 200), "\(token)  accepted: \(receipt.apnsID)")
        case .failure(let error):
            var line = Line(token: token, id: error.rejection?.apnsID ?? outcome.item.id)
            if let rejection = error.rejection {
                line.status = rejection.status
                line.reason = rejection.reason.rawValue
                line.timestamp = rejection.timestamp.map { UInt64(max(0, ($0.timeIntervalSince1970 * 1000).rounded())) }
            } else {
                line.error = error.cause
            }
            output.print(line, "\(token)  failed: \(error.cause)")
        }
    }

    private struct Line: Encodable {
        var token: String
        var id: String?
        var status: Int?
        var reason: String?
        var timestamp: UInt64?
        /// What happened, where there was no answer and so no status.
        var error: String?
    }
}
