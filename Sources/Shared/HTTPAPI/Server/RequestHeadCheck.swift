import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// What the head of a request has to be, beyond what the parser checks. These are values without side effects.
enum RequestHeadRules {
    /// Checks the head of a request over HTTP/1, and brings its target into the form of a path.
    /// - Parameter mayLackHost: whether `Host` may be empty, because the connection is over a Unix socket, which has no
    ///   name.
    /// - Throws: the problem with which to refuse the request. Nothing that comes after it on the connection may then be
    ///   read, because it is not known where the request ends.
    static func checked(_ head: HTTPRequestHead, mayLackHost: Bool) throws(Problem) -> HTTPRequestHead {
        var head = head
        try checkHost(head, mayLackHost: mayLackHost)
        try checkTransferEncoding(head)
        guard !head.uri.hasPrefix("/"), head.uri != "*" || head.method != .OPTIONS else { return head }
        let (authority, path) = try parts(ofURL: head.uri)
        // The field that came with a whole URL has to be ignored (RFC 9112, 3.2.2). The checks of the host that follow are
        // then about the host of the URL.
        head.headers.replaceOrAdd(name: "host", value: authority)
        head.uri = path
        return head
    }

    private static func isOld(_ head: HTTPRequestHead) -> Bool { head.version == .http1_0 }

    /// RFC 9112, 3.2: a request has to name one host. HTTP/1.0 does not know the field, and a Unix socket has no host to name.
    private static func checkHost(_ head: HTTPRequestHead, mayLackHost: Bool) throws(Problem) {
        let hosts = head.headers["host"]
        guard let host = hosts.first else {
            guard mayLackHost || isOld(head) else { throw Problem(400, "The request has no Host header field.") }
            return
        }
        guard hosts.count == 1 else { throw Problem(400, "The request has more than one Host header field.") }
        guard let authority = HTTPAuthority(host), mayLackHost || !authority.host.isEmpty else {
            throw Problem(400, "The Host header field has to be a host, perhaps with a port.")
        }
    }

    /// RFC 9112, 6.1 and 6.3: a body is read only if it is certain where it ends.
    private static func checkTransferEncoding(_ head: HTTPRequestHead) throws(Problem) {
        let fields = head.headers["transfer-encoding"]
        guard !fields.isEmpty else { return }
        let codings = fields.joined(separator: ",").lowercased().split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard !isOld(head), codings.last == "chunked", !codings.dropLast().contains("chunked"), !codings.contains(""),
            head.headers["content-length"].isEmpty
        else {
            throw Problem(400, "The end of the body is not certain: Transfer-Encoding has to be chunked, or missing.")
        }
        guard codings.count == 1 else {
            throw Problem(501, "This server knows no Transfer-Encoding but chunked.")
        }
    }

    /// Divides a whole URL, as clients send it to proxies and may send it to any server (RFC 9112, 3.2.2).
    private static func parts(ofURL url: String) throws(Problem) -> (authority: String, path: String) {
        guard let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) else {
            throw Problem(400, "The request's target has to be a path, as in /health, or a whole URL.")
        }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        guard let named = HTTPAuthority(String(authority)), !named.host.isEmpty, !rest.contains("#") else {
            throw Problem(400, "The request's target is a URL without a valid host.")
        }
        let path = rest[authority.endIndex...]
        return (String(authority), path.hasPrefix("/") ? String(path) : "/" + path)
    }

    /// Checks the head of a request over HTTP/2, which names its host in a field of its own.
    /// - Throws: the problem with which to refuse the request.
    static func checked(_ head: HTTPRequest) throws(Problem) -> HTTPRequest {
        var head = head
        let hosts = head.headerFields.filter { $0.name.canonicalName == "host" }.map(\.value)
        // RFC 9113, 8.3.1: a `Host` beside `:authority` has to say the same, and one of the two is required.
        guard let authority = head.authority ?? hosts.first,
            hosts.allSatisfy({ $0.lowercased() == authority.lowercased() }),
            let named = HTTPAuthority(authority), !named.host.isEmpty
        else { throw Problem(400, "The request has to name one host.") }
        head.authority = authority
        head.headerFields = HTTPFields(head.headerFields.filter { $0.name.canonicalName != "host" })
        return head
    }
}

/// Refuses a request over HTTP/1 whose head breaks the rules, and passes on no byte that follows it. It is before the
/// handler that forgets further `Host` fields and the host of a URL.
final class RequestHeadCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        do throws(Problem) {
            let isUnixSocket = context.channel.localAddress?.pathname != nil
            let checked = try RequestHeadRules.checked(head, mayLackHost: isUnixSocket)
            context.fireChannelRead(wrapInboundOut(.head(checked)))
        } catch {
            hasRefused = true
            context.fireErrorCaught(error)
        }
    }
}
