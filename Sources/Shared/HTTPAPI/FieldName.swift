package import HTTPTypes

/// The names of header fields that the library for HTTP does not know. A test reads each of them.
package enum FieldName: String, CaseIterable, Sendable {
    /// The sender's key for a body of Web Push, and its VAPID key, in the drafts of RFC 8291 and 8292.
    case cryptoKey = "Crypto-Key"
    /// The salt for a body of Web Push, in the drafts of RFC 8291.
    case encryption = "Encryption"
    case fetchSite = "Sec-Fetch-Site"
    /// The clients for whom proxies have passed a request on, the nearest last.
    case forwardedFor = "X-Forwarded-For"
    case idempotencyKey = "Idempotency-Key"
    case installationSecret = "Installation-Secret"
    case lastEventID = "Last-Event-ID"
    case link = "Link"
    case openerPolicy = "Cross-Origin-Opener-Policy"
    /// What browsers sent before `Sec-Purpose` became the standard.
    case purpose = "Purpose"
    case referrerPolicy = "Referrer-Policy"
    /// What replaces an undelivered message of Web Push (RFC 8030, 5.4).
    case topic = "Topic"
    /// For how many seconds a message of Web Push is kept (RFC 8030, 5.2).
    case ttl = "TTL"
    /// The nodes of a cluster that did not answer.
    case unanswered = "Carillon-Unanswered"
    /// RFC 8030, 5.3.
    case urgency = "Urgency"

    fileprivate var name: HTTPField.Name? { HTTPField.Name(rawValue) }
}

extension HTTPFields {
    package subscript(name: FieldName) -> String? {
        get { name.name.flatMap { self[$0] } }
        set { if let name = name.name { self[name] = newValue } }
    }

    package subscript(values name: FieldName) -> [String] { name.name.map { self[values: $0] } ?? [] }
}
