package import HTTPAPI
import Hummingbird
import Journal
import Matching
import Notifications
import Rehearsals
import Reports

// The report about providers' clients.
extension ManagementOperations {
    static let reports = [
        ManagementOperation(
            method: .get, path: "/v1/reports", summary: "What providers' clients did, judged by the Guide",
            parameters: [
                .query("team", .string(.accountID), "Only this team's requests.")
            ],
            answer: .json(ManagementMessages.Report.schema), problems: [409]
        ) { api, call in
            .json(try api.report(team: call.query("team")))
        }
    ]
}

extension ManagementAPI {
    fileprivate func report(team: String?) throws(Problem) -> ManagementMessages.Report {
        let testing = try testing("The report")
        guard testing.journal.keep > 0 else {
            throw Problem(409, "The report needs the journal, which is off; switch it on with PUT /v1/journal.")
        }
        var match = RequestMatch()
        match.team = team.flatMap(TeamID.init)
        // Notifications sent by the management API say nothing about a client, and the Guide nothing about channels.
        let requests = testing.journal.requests(match, limit: JournalLimits.requests)
            .filter {
                ProviderInterface.ofNotifications.contains($0.facts.interface) && $0.facts.failedHandshake == nil
            }
            .map { RecordedRequest($0.facts, isAnswered: $0.isAnswered, isRehearsed: $0.rule != nil) }
        let judged =
            ClientReport.findings(
                requests, unusedConnections: testing.journal.unusedConnections(match),
                unprocessed: testing.journal.unprocessedRequests(match))
            + ClientReport.findings(handshakes(testing.journal, match.team, requests), requests)
        let findings = judged.map(ManagementMessages.Finding.init) + silentRules(match.team, testing.journal)
        return ManagementMessages.Report(findings: findings)
    }

    /// The TLS handshakes that the report is about. A handshake comes before a team is known. So a team's report has those
    /// whose connections the team used, and the others only if no other team has sent anything.
    private func handshakes(
        _ journal: RequestJournal,
        _ team: TeamID?,
        _ requests: [RecordedRequest],
    ) -> ClientReport.Handshakes {
        var records = journal.handshakes
        if let team, !records.isEmpty, !isAlone(team, journal) {
            let connections = Set(requests.map(\.facts.connection))
            records.removeAll { !connections.contains($0.connection.number) }
        }
        let isDisturbed = (parts.rehearsals?.all ?? []).contains { shown in
            shown.isActive && shown.rehearsal.rehearsal.rules.contains { $0.fault.isHandshake }
        }
        return ClientReport.Handshakes(
            records, mayTrustOtherAuthority: journal.mayTrustOtherAuthority, isDisturbed: isDisturbed)
    }

    /// Whether no other team has sent anything. A rehearsal may then be about this team although it names none.
    private func isAlone(_ team: TeamID, _ journal: RequestJournal) -> Bool {
        journal.requests(RequestMatch(), limit: JournalLimits.requests)
            .allSatisfy { $0.facts.team == nil || $0.facts.team == team }
    }

    /// A finding for each rule of a rehearsal that never fired, because such a rule tested nothing. A rule that names no
    /// team belongs to a team's report only if no other team has sent: otherwise it may be another test's.
    private func silentRules(_ team: TeamID?, _ journal: RequestJournal) -> [ManagementMessages.Finding] {
        let isAlone = team.map { self.isAlone($0, journal) } ?? true
        return (parts.rehearsals?.all ?? []).flatMap { shown in
            zip(shown.rehearsal.rehearsal.rules, shown.rehearsal.counts).compactMap { rule, counts in
                guard counts.fired == 0, team == nil || rule.match.team == team || rule.match.team == nil && isAlone
                else { return nil }
                return ManagementMessages.Finding(
                    id: "rule-never-fired", severity: "note", section: "",
                    text: "The rule \(rule.name) of the rehearsal \(shown.id) matched \(counts.matched) times and "
                        + "never fired.",
                    advice: "Let the test send a request that the rule matches, or correct the rule's match and when.",
                    requests: [])
            }
        }
    }
}

extension ManagementMessages {
    package struct Report: JSONMessage {
        package let findings: [Finding]

        package static let form: JSONForm<Report> = .object(
            "Report", Report.init, .required("findings", .list(of: Finding.form), \.findings))
    }

    package struct Finding: JSONMessage, Hashable {
        package let id: String
        package let severity: String
        package let section: String
        package let text: String
        package let advice: String
        package let requests: [UInt64]

        package static let form: JSONForm<Finding> = .object(
            nil, Finding.init(id:severity:section:text:advice:requests:),
            .required("id", .text(.any), \.id, "Always the same for the same kind of finding."),
            .required("severity", .text(.severity), \.severity),
            .required(
                "section", .text(.any), \.section,
                "The Guide's section; empty if the finding is not about the client."),
            .required("text", .text(.any), \.text, "What the client did."),
            .required("advice", .text(.any), \.advice, "What to change."),
            .required(
                "requests", .list(of: .integer()), \.requests,
                "The journal's numbers of the requests that show it."))
    }
}

extension ManagementMessages.Finding {
    fileprivate init(_ finding: Reports.Finding) {
        self.init(
            id: finding.id, severity: finding.severity.rawValue, section: finding.section, text: finding.text,
            advice: finding.advice, requests: finding.requests)
    }
}

extension TextFormat {
    fileprivate static let severity = oneOf(["error", "warning", "note"])
}
