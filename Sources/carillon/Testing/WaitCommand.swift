import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Journal
import Management
import Matching
import Notifications

/// Waits until providers have sent something.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until providers have sent something, and show it.",
        discussion: "Exits with 1 if the time is over first, and says which requests came nearest.",
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var match: RequestsCommand.MatchOption

    @Option(help: "The least number of requests. 0 waits for the whole time, and succeeds if none matches.")
    var count = 1

    @Option(help: ArgumentHelp("The longest time to wait, in seconds.", valueName: "seconds"))
    var timeout = 5.0

    func validate() throws {
        guard (0...JournalLimits.requests).contains(count) else {
            throw ValidationError("The count is \(count); it takes 0 to \(JournalLimits.requests).")
        }
        guard timeout >= 0, timeout <= Double(ManagementLimits.wait.components.seconds) else {
            throw ValidationError(
                "The timeout is \(timeout); it takes 0 to \(ManagementLimits.wait.components.seconds) seconds.")
        }
    }

    func run() async throws {
        let message = ManagementMessages.Wait(
            // fits: at most ManagementLimits.wait
            match: try match.value(), count: count, timeout: Duration.milliseconds(Int64(timeout * 1000)).iso8601)
        let (status, body) = try await common.management().answer(
            .POST, "/v1/requests/wait", message, beside: [408])
        let output = common.output
        guard case .object(let answer)? = try? JSONValue(answer: body) else {
            throw CommandError("The service's answer cannot be read.")
        }
        guard status == 408 else {
            guard case .array(let requests) = answer["requests"] else { return }
            for request in requests { output.print(request, RequestLine(request).text) }
            return
        }
        Output.printDiagnostic("Error: \(explanation(answer))")
        throw ExitCode.failure
    }

    private func explanation(_ answer: JSONMembers) -> String {
        let matched = answer["matched"]?.text ?? "0"
        var lines = ["\(matched) requests matched within \(timeout) s, instead of \(count)."]
        guard case .array(let nearest) = answer["nearest"] else { return lines[0] }
        for case .object(let miss) in nearest {
            guard let request = miss["request"], case .array(let keys) = miss["differs"] else { continue }
            let differs = keys.map { TerminalText.clean($0.string ?? $0.text) }
            let judgement = differs.isEmpty ? "matches" : "differs in " + differs.joined(separator: ", ")
            lines.append("  \(RequestLine(request).text)\n    \(judgement)")
        }
        if lines.count == 1 { lines.append("  There is no request in the journal.") }
        guard case .array(let failed)? = answer["failed"] else { return lines.joined(separator: "\n") }
        lines += failed.map { "  \(RequestLine($0).text)" }
        return lines.joined(separator: "\n")
    }
}
