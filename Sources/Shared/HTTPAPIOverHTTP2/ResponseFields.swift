import HTTP2
import HTTPTypes

extension FieldList {
    /// The fields of a response.
    init(_ head: HTTPResponse) {
        self.init()
        append(":status", String(head.status.code))
        for field in head.headerFields where !Self.areOfConnection.contains(field.name.canonicalName) {
            append(name: field.name.canonicalName, value: field.value, Self.form(of: field.name.canonicalName))
        }
    }

    /// Fields of HTTP/1.1 that a message over HTTP/2 must not have (RFC 9113, 8.2.2).
    private static let areOfConnection: Set = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    /// The table of the client is for values that come again. The others would push them out.
    private static func form(of name: String) -> FieldForm {
        switch name {
        case "content-length", "date", "etag", "location", "ttl": .withoutIndexing
        // Nobody in between may guess a secret by the size of what is compressed with it (RFC 7541, 7.1.3).
        case "set-cookie": .neverIndexed
        default: .incremental
        }
    }
}
