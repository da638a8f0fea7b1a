import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Management
import Notifications

struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Compare what providers' clients did with the Guide's advice.",
        discussion: "The command reads the requests in the journal.")

    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("Only the requests of this team.", valueName: "team-id"))
    var team: String?

    func run() async throws {
        let query = team.map { "?team=" + $0.percentEncoded } ?? ""
        let report: ManagementMessages.Report = try await common.management().ask(.GET, "/v1/reports" + query)
        let output = common.output
        for finding in report.findings {
            let section = finding.section.isEmpty ? "" : " (Guide, \(finding.section))"
            let requests =
                finding.requests.isEmpty
                ? "" : "\n  requests: " + finding.requests.map(String.init).joined(separator: ", ")
            output.print(
                finding,
                "\(finding.severity): \(finding.id)\(section)\n  \(finding.text)\n  \(finding.advice)\(requests)")
        }
        if report.findings.isEmpty, !common.json { output.print(Never?.none, "Nothing was found.") }
    }
}
