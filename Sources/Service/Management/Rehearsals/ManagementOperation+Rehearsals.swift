package import HTTPAPI
import Hummingbird
import Journal
import Matching
import Notifications
import Rehearsals

// Begins, shows and ends rehearsals, which are scripted faults.
extension ManagementOperations {
    static let rehearsals = [
        ManagementOperation(
            method: .post, path: "/v1/rehearsals", summary: "Begin a rehearsal",
            body: Body(reading: ManagementSchemas.newRehearsal),
            answer: .json(ManagementMessages.RehearsalBegun.schema),
            problems: [409, 413, 415]
        ) { api, call in
            try .json(api.beginRehearsal(call.document))
        },
        ManagementOperation(
            method: .get, path: "/v1/rehearsals", summary: "The rehearsals, also those that have ended",
            parameters: .list(after: "rehearsal"), answer: .json(.array(ManagementMessages.Rehearsal.schema))
        ) { api, call in
            let shown = try api.director.all.map(ManagementMessages.Rehearsal.init)
            let page = ListPage(inOrder: shown.map(\.rehearsal), call)
            return page.answer(Array(shown[page.names.indices]))
        },
        ManagementOperation(
            method: .get, path: "/v1/rehearsals/{id}", summary: "A rehearsal, with how often its rules fired",
            parameters: [rehearsalID], answer: .json(ManagementMessages.Rehearsal.schema), problems: [404]
        ) { api, call in
            .json(try api.shown(try call.parameter("id")) { $0.rehearsal($1) })
        },
        ManagementOperation(
            method: .delete, path: "/v1/rehearsals/{id}", summary: "End a rehearsal",
            parameters: [rehearsalID], answer: .json(ManagementMessages.Rehearsal.schema), problems: [404]
        ) { api, call in
            .json(try api.shown(try call.parameter("id")) { $0.end($1) })
        },
        ManagementOperation(
            method: .get, path: "/other-ca.pem", summary: "The other authority of rehearsals, in PEM",
            answer: .other([pemType]), problems: [403], access: .loopbackOrMemory
        ) { api, _ in
            Response(.ok, pemType, text: try api.otherAuthority())
        },
    ]

    /// The media type of certificates in PEM (RFC 8555, 9.1).
    private static let pemType = "application/pem-certificate-chain"

    private static let rehearsalID = Parameter.path("id", .any, "The rehearsal's identifier.")
}

extension ManagementAPI {
    /// The rehearsals of the service.
    /// - Throws: 403 if the service does not serve the development environment.
    fileprivate var director: RehearsalDirector {
        get throws(Problem) {
            guard let director = parts.rehearsals else {
                throw Problem(
                    403, "Rehearsals are for the development environment only, and this service does not serve it.")
            }
            return director
        }
    }

    /// The root of the other authority. The report takes into account that somebody may trust it from now on.
    fileprivate func otherAuthority() throws(Problem) -> String {
        let testing = try testing("The other authority")
        guard let pem = try? testing.otherAuthority() else {
            throw Problem(500, "The other authority cannot be made.")
        }
        testing.journal.otherAuthorityWasRead()
        return pem
    }

    fileprivate func beginRehearsal(_ document: JSONValue) throws(Problem) -> ManagementMessages.RehearsalBegun {
        let director = try director
        let rehearsal: Rehearsal
        do throws(MatchError) {
            rehearsal = try Rehearsal(document)
        } catch {
            throw Problem.invalid(error.pointer, error.detail)
        }
        for (index, rule) in rehearsal.rules.enumerated() {
            guard case .handshake(let fault) = rule.fault, let obstacle = parts.testing?.obstacle(fault) else {
                continue
            }
            throw Problem.invalid("/rules/\(index)/fault/\(fault.name.rawValue)", obstacle)
        }
        guard let id = director.begin(rehearsal, time: now) else {
            throw Problem(
                409,
                "\(director.limit) rehearsals are active, which is the limit rehearsals: end one of them, or start the service "
                    + "with a greater limit.rehearsals.")
        }
        return ManagementMessages.RehearsalBegun(rehearsal: id)
    }

    fileprivate func shown(
        _ id: String,
        _ ask: (RehearsalDirector, String) -> ActiveRehearsals.Shown?,
    ) throws(Problem) -> ManagementMessages.Rehearsal {
        guard let shown = ask(try director, id) else {
            throw Problem.notFound("There is no rehearsal \(id.debugDescription).")
        }
        return ManagementMessages.Rehearsal(shown)
    }
}

extension ManagementMessages {
    package struct RehearsalBegun: JSONMessage {
        package let rehearsal: String

        package static let form: JSONForm<RehearsalBegun> = .object(
            "RehearsalBegun", RehearsalBegun.init,
            .required("rehearsal", .text(.any), \.rehearsal, "Its identifier."))
    }

    package struct Rehearsal: JSONMessage {
        package let rehearsal: String
        package let active: Bool
        package let began: UInt64
        package let ends: UInt64
        package let rules: [RehearsalRule]

        package static let form: JSONForm<Rehearsal> = .object(
            "Rehearsal", Rehearsal.init(rehearsal:active:began:ends:rules:),
            .required("rehearsal", .text(.any), \.rehearsal, "Its identifier."),
            .required("active", .boolean, \.active, "false after it was ended or its time is over."),
            .required("began", .integer(), \.began, "In milliseconds since 1970."),
            .required("ends", .integer(), \.ends, "When its time is over, or when it was ended."),
            .required("rules", .list(of: RehearsalRule.form), \.rules))
    }

    package struct RehearsalRule: JSONMessage {
        package let rule: String
        package let matched: UInt64
        package let fired: UInt64

        package static let form: JSONForm<RehearsalRule> = .object(
            nil, RehearsalRule.init,
            .required("rule", .text(.any), \.rule, "Its name."),
            .required("matched", .integer(), \.matched, "How many requests or connections it matched."),
            .required("fired", .integer(), \.fired, "How many of them it fired for."))
    }
}

extension ManagementMessages.Rehearsal {
    init(_ shown: ActiveRehearsals.Shown) {
        self.init(
            rehearsal: shown.id, active: shown.isActive, began: shown.began.milliseconds,
            ends: shown.ends.milliseconds,
            rules: zip(shown.rehearsal.rehearsal.rules, shown.rehearsal.counts).map { rule, counts in
                ManagementMessages.RehearsalRule(rule: rule.name, matched: counts.matched, fired: counts.fired)
            })
    }
}
