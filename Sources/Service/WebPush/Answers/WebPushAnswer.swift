import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications

/// The answers of Web Push.
enum WebPushAnswer {
    /// An answer without a body.
    static func empty(_ status: HTTPResponse.Status) -> Response { finished(Response(status: status)) }

    /// The answer to a message that was accepted.
    /// - Parameters:
    ///   - ttl: for how many seconds it is kept.
    ///   - location: its URL.
    static func created(ttl: UInt64, location: String) -> Response {
        var response = empty(.created)
        response.headers[FieldName.ttl] = "\(ttl)"
        response.headers[.location] = location
        return response
    }

    /// By this, senders see that an endpoint is a push service's before they send to it (UnifiedPush, discovery).
    private static let discovery = JSONValue.object(["unifiedpush": .object(["version": .integer(1)])])

    static func found() -> Response { finished(discovery.response()) }

    /// The answer to a browser that asks whether a page may send.
    static func preflight() -> Response {
        var response = empty(.noContent)
        response.headers[.accessControlAllowMethods] = "POST, GET, HEAD, DELETE, OPTIONS"
        response.headers[.accessControlAllowHeaders] =
            "Authorization, Content-Encoding, Content-Type, Crypto-Key, Encryption, Prefer, TTL, Topic, Urgency"
        response.headers[.accessControlMaxAge] = "\(WebPushLimits.preflightSeconds)"
        return response
    }

    /// The answer with a body that a phone fetches.
    /// - Parameter written: called when it was written completely.
    static func body(_ body: [UInt8], written: @escaping @Sendable () async -> Void) -> Response {
        var response = Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .contentLength: "\(body.count)"],
            body: ResponseBody(contentLength: body.count) { writer in
                try await writer.write(ByteBuffer(bytes: body))
                try await writer.finish(nil)
                await written()
            })
        response.headers[.cacheControl] = "no-store"
        return finished(response)
    }

    /// The answer to a request about handles or grants, as the provider API's port gives it.
    static func response(_ answer: HandleAnswer) -> Response {
        var response = Response(status: .init(code: answer.status))
        if let json = answer.json {
            response.headers[.contentType] = "application/json"
            response.body = ResponseBody(byteBuffer: ByteBuffer(string: json))
        }
        if let retryAfter = answer.retryAfter { response.headers[.retryAfter] = "\(retryAfter)" }
        return response.protected()
    }

    /// - Parameter retryAfter: with status 429, how long to wait, in seconds.
    static func problem(_ problem: Problem, retryAfter: Int? = nil) -> Response {
        var response = Response(problem)
        // The scheme that an endpoint takes (RFC 8292, 3).
        if problem.status == 401 { response.headers[.wwwAuthenticate] = "vapid" }
        if let retryAfter { response.headers[.retryAfter] = "\(retryAfter)" }
        return finished(response)
    }

    /// What every answer has. Pages of any origin may send and read the answer: who may send, the URL and the token say.
    static let fields: HTTPFields = [
        .crossOriginResourcePolicy: "cross-origin", .accessControlAllowOrigin: "*",
        .accessControlExposeHeaders: "Location, TTL, Retry-After",
    ]

    private static func finished(_ response: Response) -> Response {
        var response = response.protected()
        for field in fields { response.headers[field.name] = field.value }
        return response
    }
}
