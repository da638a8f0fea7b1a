import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Notifications

/// The console's page, style and modules: the files in `Files`, embedded in the binary.
///
/// The files are the same for every user and contain no secret, so a browser gets them without signing in.
struct ConsolePages: Sendable {
    static let path = "/console"
    static let signInPath = "/console/sign-in"

    private let files: [String: ConsoleFile]
    private let index: ConsoleFile

    init() {
        index = ConsoleFile(PackageResources.index_html, .html)
        var files = [Self.path: index]
        for (name, file) in ConsoleFile.all { files["\(Self.path)/\(name)"] = file }
        self.files = files
    }

    func add(to router: Router<ManagementContext>, _ api: ManagementAPI) {
        for (path, file) in files {
            router.on(RouterPath(path), method: .get) { request, context in
                if let problem = context.refusal(of: request, access: .loopback, now: api.now) { throw problem }
                return file.response(to: request)
            }
            router.on(RouterPath(path), method: .head) { request, context in
                if let problem = context.refusal(of: request, access: .loopback, now: api.now) { throw problem }
                return file.response(to: request).createHeadResponse()
            }
        }
        // Do not allow HEAD here. Programs that preview links send it, and must not use a link up.
        router.on(RouterPath(Self.signInPath), method: .get) { [index] request, context in
            if let problem = context.refusal(of: request, access: .loopback, now: api.now) { throw problem }
            guard !Self.isPrefetch(request) else {
                throw Problem(503, "The browser loaded this link ahead, which does not use it up; open the link.")
            }
            return Self.signIn(request, api, index)
        }
    }

    /// Whether the browser loads the page ahead, before a person has opened it: while an address is being typed, or
    /// because a link is visible.
    private static func isPrefetch(_ request: Request) -> Bool {
        let purposes = request.headers[values: secPurpose] + request.headers[values: purpose]
        return purposes.contains { $0.lowercased().contains("prefetch") || $0.lowercased().contains("prerender") }
    }

    // Static names, which are always allowed.
    private static let secPurpose = HTTPField.Name("Sec-Purpose") ?? .eTag
    /// The header that browsers sent before `Sec-Purpose` became the standard.
    private static let purpose = HTTPField.Name("Purpose") ?? .eTag

    private static func signIn(_ request: Request, _ api: ManagementAPI, _ index: ConsoleFile) -> Response {
        guard let code = request.uri.queryParameters["code"],
            let secret = api.console.signIn(link: String(code), now: api.now)
        else {
            // People read on the page what to do; programs read the status.
            var response = index.response(to: request)
            response.status = .forbidden
            return response
        }
        var response = Response(status: .seeOther)
        response.headers[.location] = path
        response.headers[.setCookie] = ConsoleSessions.cookie(secret, request.head.authority ?? "")
        response.headers[ConsoleFile.referrerPolicy] = "no-referrer"
        return response
    }
}

/// One of the console's files.
struct ConsoleFile: Sendable {
    enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case module = "text/javascript; charset=utf-8"
        case image = "image/svg+xml"
    }

    private let bytes: [UInt8]
    private let kind: Kind
    private let tag: String

    init(_ bytes: [UInt8], _ kind: Kind) {
        self.bytes = bytes
        self.kind = kind
        tag = "\"\(Hexadecimal.string(SHA256.hash(data: bytes).prefix(16)))\""
    }

    /// All files except the page itself, by name. A test compares the names with the folder.
    static var all: [String: ConsoleFile] {
        [
            "console.css": ConsoleFile(PackageResources.console_css, .style),
            "icon.svg": ConsoleFile(PackageResources.icon_svg, .image),
            "accounts.js": ConsoleFile(PackageResources.accounts_js, .module),
            "activities.js": ConsoleFile(PackageResources.activities_js, .module),
            "api.js": ConsoleFile(PackageResources.api_js, .module),
            "curl.js": ConsoleFile(PackageResources.curl_js, .module),
            "detail.js": ConsoleFile(PackageResources.detail_js, .module),
            "devices.js": ConsoleFile(PackageResources.devices_js, .module),
            "dialog.js": ConsoleFile(PackageResources.dialog_js, .module),
            "dom.js": ConsoleFile(PackageResources.dom_js, .module),
            "feed.js": ConsoleFile(PackageResources.feed_js, .module),
            "filter.js": ConsoleFile(PackageResources.filter_js, .module),
            "graph.js": ConsoleFile(PackageResources.graph_js, .module),
            "list.js": ConsoleFile(PackageResources.list_js, .module),
            "main.js": ConsoleFile(PackageResources.main_js, .module),
            "model.js": ConsoleFile(PackageResources.model_js, .module),
            "names.js": ConsoleFile(PackageResources.names_js, .module),
            "notifications.js": ConsoleFile(PackageResources.notifications_js, .module),
            "payload.js": ConsoleFile(PackageResources.payload_js, .module),
            "phone.js": ConsoleFile(PackageResources.phone_js, .module),
            "rawjson.js": ConsoleFile(PackageResources.rawjson_js, .module),
            "rehearsals.js": ConsoleFile(PackageResources.rehearsals_js, .module),
            "send.js": ConsoleFile(PackageResources.send_js, .module),
            "service.js": ConsoleFile(PackageResources.service_js, .module),
            "templates.js": ConsoleFile(PackageResources.templates_js, .module),
            "time.js": ConsoleFile(PackageResources.time_js, .module),
            "words.js": ConsoleFile(PackageResources.words_js, .module),
        ]
    }

    func response(to request: Request) -> Response {
        let isKnown = request.headers[.ifNoneMatch] == tag
        var response = Response(
            status: isKnown ? .notModified : .ok,
            body: isKnown ? ResponseBody() : ResponseBody(byteBuffer: .init(bytes: bytes)))
        response.headers[.contentType] = kind.rawValue
        response.headers[.eTag] = tag
        // The browser asks for the file each time, and downloads it only if it has changed. So it shows nothing old
        // after an update.
        response.headers[.cacheControl] = "no-cache"
        response.headers[.contentSecurityPolicy] = Self.contentPolicy
        response.headers[Self.referrerPolicy] = "no-referrer"
        response.headers[Self.openerPolicy] = "same-origin"
        return response
    }

    /// Allows only files of the service itself, no script inside a page, and no frame around it. Payloads come from
    /// strangers, so the browser also refuses to turn text into markup (Trusted Types), even if the code tries to.
    private static let contentPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    // Static names, which are always allowed.
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .eTag
    private static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy") ?? .eTag
}
