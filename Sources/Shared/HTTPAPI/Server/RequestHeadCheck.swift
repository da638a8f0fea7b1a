import Foundation
package import HTTPTypes
import NIOCore
import NIOHTTP1

/// What the head of a request has to be, beyond what the parser checks. These are values without side effects.
package enum RequestHeadRules {
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

    /// Whether no request can follow on the connection. With HTTP/1.0 none does: keeping such a connection open needs fields
    /// that proxies do not understand (RFC 9112, C.2.2). Some clients offer an upgrade to another protocol, as curl and Java's
    /// do without TLS. The server ignores the offer, which is allowed (RFC 9110, 7.8), but SwiftNIO reads nothing after it.
    static func isLast(_ head: HTTPRequestHead) -> Bool {
        !head.isKeepAlive || isOld(head) || head.headers.contains(name: "upgrade")
    }

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

    /// Whether a field is `Host`, for which the library has no name.
    package static func isHost(_ field: HTTPField) -> Bool { field.name.canonicalName == "host" }

    /// Checks the head of a request over HTTP/2, which names its host in a field of its own.
    /// - Throws: the problem with which to refuse the request.
    package static func checked(_ head: HTTPRequest) throws(Problem) -> HTTPRequest {
        var head = head
        let hosts = head.headerFields.filter(isHost).map(\.value)
        // RFC 9113, 8.3.1: a `Host` beside `:authority` has to say the same, and one of the two is required.
        guard let authority = head.authority ?? hosts.first, let named = HTTPAuthority(authority), !named.host.isEmpty,
            hosts.allSatisfy({ HTTPAuthority($0)?.isSame(as: named, scheme: head.scheme) == true })
        else { throw Problem(400, "The request has to name one host.") }
        if !hosts.isEmpty {
            head.authority = authority
            head.headerFields = HTTPFields(head.headerFields.filter { !isHost($0) })
        }
        return head
    }
}

/// Refuses a request over HTTP/1 whose head breaks the rules, and passes on no byte that follows it. It is before the
/// handler that forgets further `Host` fields, the host of a URL and the version.
///
/// It also knows which request is the connection's last, and says so in the answer (RFC 9112, 9.3 and 9.6).
final class RequestHeadCheck: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Reading {
        case requests
        /// The parts of the last request.
        case last
        /// Nothing more.
        case ended
    }

    private var reading = Reading.requests
    /// The version of the last request.
    private var version = HTTPVersion.http1_1
    /// How many requests have begun and have no answer yet.
    private var unanswered = 0
    /// Whether the newest of them has not arrived whole.
    private var isArriving = false
    /// What is wrong behind requests that have no answer yet.
    private var fault: (any Error)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case _ where reading == .ended: break
        case .head(let head) where reading == .requests:
            do throws(Problem) {
                let isUnixSocket = context.channel.localAddress?.pathname != nil
                let checked = try RequestHeadRules.checked(head, mayLackHost: isUnixSocket)
                unanswered += 1
                isArriving = true
                context.fireChannelRead(wrapInboundOut(.head(marked(checked))))
            } catch {
                fail(error, context)
            }
        case .head: break
        case .end:
            isArriving = false
            if reading == .last { reading = .ended }
            context.fireChannelRead(data)
        case .body: context.fireChannelRead(data)
        }
    }

    /// Marks a last request, so that the connection ends after its answer.
    private func marked(_ head: HTTPRequestHead) -> HTTPRequestHead {
        guard RequestHeadRules.isLast(head) else { return head }
        (reading, version) = (.last, head.version)
        var head = head
        head.headers.replaceOrAdd(name: "connection", value: "close")
        return head
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What is wrong behind the last request concerns nobody.
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        if reading != .ended { fail(error, context) }
    }

    /// Nothing more is read. The requests that arrived whole before get their answers.
    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        reading = .ended
        guard unanswered > (isArriving ? 1 : 0) else { return context.fireErrorCaught(error) }
        fault = error
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.code >= 200:
            let isLast = reading != .requests && unanswered == 1
            context.write(isLast ? wrapOutboundOut(.head(last(head))) : data, promise: promise)
        case .end:
            unanswered = max(0, unanswered - 1)
            guard let fault, unanswered == (isArriving ? 1 : 0) else { return context.write(data, promise: promise) }
            self.fault = nil
            guard isArriving else {
                // What came behind the last request was none, so it gets no answer of its own.
                let written = promise ?? context.eventLoop.makePromise()
                context.write(data, promise: written)
                return written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
            }
            context.write(data, promise: promise)
            context.fireErrorCaught(fault)
        default: context.write(data, promise: promise)
        }
    }

    private func last(_ head: HTTPResponseHead) -> HTTPResponseHead {
        var head = head
        head.headers.replaceOrAdd(name: "connection", value: "close")
        // An answer of unknown length goes to the end of the connection: HTTP/1.0 has no chunks.
        head.version = version
        return head
    }
}
