import Console
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

/// The console of the provider server: a page in the browser for its administrators.
struct ProviderConsole: Sendable {
    let sessions: ConsoleSessions
    /// Whether the server's connections have TLS.
    let isSecure: Bool

    /// Makes a link that signs a browser in, once; nil if the server does not listen yet.
    func makeLink(now: Timestamp) -> String? {
        sessions.address.map { "\($0)\(ConsoleSite.signInPath)?code=\(sessions.makeLink(now: now))" }
    }

    /// The files in `Files`, embedded in the binary, and those that all consoles share.
    static let site = ConsoleSite(index: ConsoleFile(PackageResources.index_html, .html), files: files)

    /// All files of its own except the page itself, by name. A test compares the names with the folder.
    static var files: [String: ConsoleFile] {
        [
            "apps.js": ConsoleFile(PackageResources.apps_js, .module),
            "audiences.js": ConsoleFile(PackageResources.audiences_js, .module),
            "channels.js": ConsoleFile(PackageResources.channels_js, .module),
            "compose.js": ConsoleFile(PackageResources.compose_js, .module),
            "hooks.js": ConsoleFile(PackageResources.hooks_js, .module),
            "installations.js": ConsoleFile(PackageResources.installations_js, .module),
            "main.js": ConsoleFile(PackageResources.main_js, .module),
            "message.js": ConsoleFile(PackageResources.message_js, .module),
            "messages.js": ConsoleFile(PackageResources.messages_js, .module),
            "parts.js": ConsoleFile(PackageResources.parts_js, .module),
        ]
    }
}

// The console's page, and the requests that sign in to it and out of it.
extension ProviderServerAPI {
    /// Adds the console's files and the route that a sign-in link opens.
    func addConsole(to router: Router<BasicRequestContext>) {
        ProviderConsole.site.add(
            to: router, sessions: console.sessions, isSecure: console.isSecure, now: clock.now
        ) { [browser = access.browser] request, _ in
            if let refusal = browser.refusal(of: request.head) { throw Problem(403, refusal.detail) }
        }
    }

    static let consoleOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/console/links", summary: "Make a link that signs a browser in, once",
            answer: .json(ConsoleLink.schema), access: .administrator
        ) { api, call in
            try api.makeConsoleLink(call.request)
        },
        ProviderOperation(
            method: .delete, path: "/v1/console/session", summary: "Sign this browser out",
            answer: .json(EndedSessions.schema), headers: ["Set-Cookie": "Removes the cookie."], problems: [404],
            access: .anyKey
        ) { api, call in
            try api.endSession(call.request)
        },
        ProviderOperation(
            method: .delete, path: "/v1/console/sessions", summary: "Sign all browsers out",
            answer: .json(EndedSessions.schema), access: .administrator
        ) { api, _ in
            .json(EndedSessions(ended: api.console.sessions.endAll()))
        },
        ProviderOperation(
            method: .get, path: "/v1/reasons", summary: "What each reason of the service means",
            answer: .json(.array(ReasonExplanation.schema)), access: .anyKey
        ) { _, _ in
            JSONForm.list(of: ReasonExplanation.form).response(ReasonExplanation.all)
        },
    ]

    private func makeConsoleLink(_ request: Request) throws -> Response {
        // Without this check a session could last for ever, because it could make links for its own successors.
        guard try access.session(of: request) == nil else {
            throw Problem(
                403, "A session of the console cannot make links; run carillon provider console where the server runs.")
        }
        guard let link = console.makeLink(now: clock.now()) else {
            throw Problem(503, "The server does not listen yet.")
        }
        return .json(ConsoleLink(url: link))
    }

    private func endSession(_ request: Request) throws -> Response {
        guard let session = try access.session(of: request), console.sessions.end(session) else {
            throw Problem.notFound("The request is not of a session of the console.")
        }
        var response = Response.json(EndedSessions(ended: 1))
        response.headers[.setCookie] = ConsoleSessions.cookieRemoval(request.head.authority ?? "")
        return response
    }
}
