import Console
package import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

// Signing in to the console and out of it, and the table of reasons that the console shows.
extension ManagementOperations {
    static let console = [
        ManagementOperation(
            method: .post, path: "/v1/console/links", summary: "Make a link that signs a browser in, once",
            body: .empty,
            answer: .json(ManagementMessages.ConsoleLink.schema), problems: [409, 413, 415]
        ) { api, call in
            // Without this check a session could last for ever, because it could make links for its own successors.
            guard call.caller.session == nil else {
                throw Problem(
                    403, "A session of the console cannot make links; run carillon console where the service runs.")
            }
            return .json(try api.makeConsoleLink())
        },
        ManagementOperation(
            method: .delete, path: "/v1/console/session", summary: "End the session that asks",
            answer: .json(ManagementMessages.EndedSessions.schema), problems: [404]
        ) { api, call in
            guard let session = call.caller.session, api.console.end(session) else {
                throw Problem.notFound("The request is not of a session of the console.")
            }
            var response = Response.json(ManagementMessages.EndedSessions(ended: 1))
            response.headers[.setCookie] = ConsoleSessions.cookieRemoval(call.request.head.authority ?? "")
            return response
        },
        ManagementOperation(
            method: .delete, path: "/v1/console/sessions", summary: "End all sessions of the console, and its links",
            answer: .json(ManagementMessages.EndedSessions.schema)
        ) { api, _ in
            .json(ManagementMessages.EndedSessions(ended: api.console.endAll()))
        },
    ]

    /// The meaning and advice of every rejection reason. All clients that explain a reason use this table.
    static let reasons = [
        ManagementOperation(
            method: .get, path: "/v1/reasons", summary: "What each reason of a rejection means, and what to do",
            answer: .json(.array(ManagementMessages.Reason.schema))
        ) { _, _ in
            JSONForm.list(of: ManagementMessages.Reason.form).response(
                Rejection.Reason.allCases.map { reason in
                    ManagementMessages.Reason(
                        reason: reason.rawValue, status: reason.status, meaning: reason.row.meaning,
                        advice: reason.row.advice.rawValue)
                })
        }
    ]
}

extension ManagementAPI {
    fileprivate func makeConsoleLink() throws(Problem) -> ManagementMessages.ConsoleLink {
        guard let address = console.address else {
            throw Problem(
                409,
                "The console is served over TCP on a loopback address; start the service with "
                    + "--management 127.0.0.1:2198.")
        }
        return ManagementMessages.ConsoleLink(
            url: "\(address)\(ConsoleSite.signInPath)?code=\(console.makeLink(now: now))")
    }
}

// MARK: - Messages

extension ManagementMessages {
    package struct ConsoleLink: JSONMessage {
        package let url: String

        package static let form: JSONForm<ConsoleLink> = .object(
            "ConsoleLink", ConsoleLink.init,
            .required("url", .text(.any), \.url, "The link works once, within five minutes."))
    }

    package struct EndedSessions: JSONMessage {
        package let ended: Int

        package static let form: JSONForm<EndedSessions> = .object(
            "EndedSessions", EndedSessions.init, .required("ended", .integer(to: ConsoleLimits.sessions), \.ended))
    }

    package struct Reason: JSONMessage {
        package let reason: String
        package let status: Int
        package let meaning: String
        package let advice: String

        package static let form: JSONForm<Reason> = .object(
            "Reason", Reason.init,
            .required("reason", .text(.any), \.reason), .required("status", .integer(from: 400, to: 599), \.status),
            .required("meaning", .text(.any), \.meaning, "What the reason says about the request."),
            .required("advice", .text(.any), \.advice, "What a provider should do."))
    }
}
