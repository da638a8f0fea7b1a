import Foundation
import HTTPAPI
import HTTPTypes
package import Hummingbird
package import Notifications

/// A console in a browser: its page, style and modules, and the address of its sign-in links.
///
/// The files are the same for every user and contain no secret, so a browser gets them without signing in.
package struct ConsoleSite: Sendable {
    package static let path = "/console"
    package static let signInPath = "/console/sign-in"

    private let files: [String: ConsoleFile]
    private let index: ConsoleFile

    /// - Parameters:
    ///   - index: the page.
    ///   - files: the console's own files by their names. They are served beside those that all consoles share.
    package init(index: ConsoleFile, files: [String: ConsoleFile]) {
        self.index = index
        var paths = [Self.path: index]
        for (name, file) in ConsoleFile.shared.merging(files, uniquingKeysWith: { $1 }) {
            paths["\(Self.path)/\(name)"] = file
        }
        self.files = paths
    }

    /// Adds the paths of the console.
    /// - Parameters:
    ///   - sessions: the links and sessions.
    ///   - isSecure: whether the connections have TLS.
    ///   - now: returns the time.
    ///   - check: throws an error if the request is not allowed to see the console.
    package func add<Context: RequestContext>(
        to router: Router<Context>,
        sessions: ConsoleSessions,
        isSecure: Bool,
        now: @escaping @Sendable () -> Timestamp,
        check: @escaping @Sendable (Request, Context) throws -> Void,
    ) {
        for (path, file) in files {
            router.on(RouterPath(path), method: .get) { request, context in
                try check(request, context)
                return file.response(to: request)
            }
            router.on(RouterPath(path), method: .head) { request, context in
                try check(request, context)
                return file.response(to: request).createHeadResponse()
            }
        }
        // Whoever types only the address wants the page.
        router.on("/", method: .get) { request, context in
            try check(request, context)
            var response = Response(status: .seeOther)
            response.headers[.location] = Self.path
            return response
        }
        // Do not allow HEAD here. Programs that preview links send it, and must not use a link up.
        router.on(RouterPath(Self.signInPath), method: .get) { [index] request, context in
            try check(request, context)
            guard !Self.isPrefetch(request) else {
                throw HTTPError(
                    .serviceUnavailable,
                    message: "The browser loaded this link ahead, which does not use it up; open the link.")
            }
            return Self.signIn(request, sessions, index, isSecure: isSecure, now: now())
        }
    }

    /// Whether the browser loads the page ahead, before a person has opened it: while an address is being typed, or
    /// because a link is visible.
    private static func isPrefetch(_ request: Request) -> Bool {
        let purposes = request.headers[values: .secPurpose] + request.headers[values: .purpose]
        return purposes.contains { $0.lowercased().contains("prefetch") || $0.lowercased().contains("prerender") }
    }

    private static func signIn(
        _ request: Request,
        _ sessions: ConsoleSessions,
        _ index: ConsoleFile,
        isSecure: Bool,
        now: Timestamp,
    ) -> Response {
        guard let code = request.uri.queryParameters["code"],
            let secret = sessions.signIn(link: String(code), now: now)
        else {
            // People read on the page what to do; programs read the status.
            var response = index.response(to: request)
            response.status = .forbidden
            return response
        }
        var response = Response(status: .seeOther)
        response.headers[.location] = path
        response.headers[.setCookie] = ConsoleSessions.cookie(
            secret, request.head.authority ?? "", isSecure: isSecure)
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }
}
