import Console
import HTTPAPI
import HTTPTypes
import Hummingbird

// Signing in to the console and out of it, and the table of reasons that the console shows.
extension ManagementOperations {
    static let console = [
        ManagementOperation(
            method: .post, path: "/v1/console/links", summary: "Make a link that signs a browser in, once",
            body: .empty,
            answer: .json(ConsoleLink.schema), problems: [409, 413, 415]
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
            answer: .json(EndedSessions.schema), problems: [404]
        ) { api, call in
            guard let session = call.caller.session, api.console.end(session) else {
                throw Problem.notFound("The request is not of a session of the console.")
            }
            var response = Response.json(EndedSessions(ended: 1))
            response.headers[.setCookie] = ConsoleSessions.cookieRemoval(call.request.head.authority ?? "")
            return response
        },
        ManagementOperation(
            method: .delete, path: "/v1/console/sessions", summary: "End all sessions of the console, and its links",
            answer: .json(EndedSessions.schema)
        ) { api, _ in
            .json(EndedSessions(ended: api.console.endAll()))
        },
    ]

    /// All clients that explain a reason use this table.
    static let reasons = [
        ManagementOperation(
            method: .get, path: "/v1/reasons", summary: "What each reason of a rejection means, and what to do",
            answer: .json(.array(ReasonExplanation.schema))
        ) { _, _ in
            JSONForm.list(of: ReasonExplanation.form).response(ReasonExplanation.all)
        }
    ]
}

extension ManagementAPI {
    fileprivate func makeConsoleLink() throws(Problem) -> ConsoleLink {
        guard let address = console.address else {
            throw Problem(
                409,
                "The console is served over TCP on a loopback address; start the service with "
                    + "--management 127.0.0.1:2198.")
        }
        return ConsoleLink(
            url: "\(address)\(ConsoleSite.signInPath)?code=\(console.makeLink(now: now))")
    }
}
