import Crypto
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

/// One of a console's files.
package struct ConsoleFile: Sendable {
    package enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case module = "text/javascript; charset=utf-8"
        case image = "image/svg+xml"
    }

    private let bytes: [UInt8]
    private let kind: Kind
    private let tag: String

    package init(_ bytes: [UInt8], _ kind: Kind) {
        self.bytes = bytes
        self.kind = kind
        tag = "\"\(Hexadecimal.string(SHA256.hash(data: bytes).prefix(16)))\""
    }

    /// The files that all consoles use, by name. A test compares the names with the folder.
    static var shared: [String: ConsoleFile] {
        [
            "api.js": ConsoleFile(PackageResources.api_js, .module),
            "console.css": ConsoleFile(PackageResources.console_css, .style),
            "dialog.js": ConsoleFile(PackageResources.dialog_js, .module),
            "dom.js": ConsoleFile(PackageResources.dom_js, .module),
            "exactjson.js": ConsoleFile(PackageResources.exactjson_js, .module),
            "icon.svg": ConsoleFile(PackageResources.icon_svg, .image),
            "list.js": ConsoleFile(PackageResources.list_js, .module),
            "payloadform.js": ConsoleFile(PackageResources.payloadform_js, .module),
            "pushtypes.js": pushTypes,
            "shell.js": ConsoleFile(PackageResources.shell_js, .module),
            "time.js": ConsoleFile(PackageResources.time_js, .module),
        ]
    }

    /// The answer to a request for this file.
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
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.openerPolicy] = "same-origin"
        return response
    }

    /// Allows only files of the service itself, no script inside a page, and no frame around it. Payloads come from
    /// strangers, so the browser also refuses to turn text into markup (Trusted Types), even if the code tries to.
    private static let contentPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")
}
