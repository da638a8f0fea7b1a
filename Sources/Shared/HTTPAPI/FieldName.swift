package import HTTPTypes

/// The names of header fields that the library for HTTP does not know. A test reads each of them.
package enum FieldName: String, CaseIterable, Sendable {
    case fetchSite = "Sec-Fetch-Site"
    case idempotencyKey = "Idempotency-Key"
    case installationSecret = "Installation-Secret"
    case lastEventID = "Last-Event-ID"
    case link = "Link"
    case openerPolicy = "Cross-Origin-Opener-Policy"
    /// What browsers sent before `Sec-Purpose` became the standard.
    case purpose = "Purpose"
    case referrerPolicy = "Referrer-Policy"
    /// The nodes of a cluster that did not answer.
    case unanswered = "Carillon-Unanswered"

    fileprivate var name: HTTPField.Name? { HTTPField.Name(rawValue) }
}

extension HTTPFields {
    package subscript(name: FieldName) -> String? {
        get { name.name.flatMap { self[$0] } }
        set { if let name = name.name { self[name] = newValue } }
    }

    package subscript(values name: FieldName) -> [String] { name.name.map { self[values: $0] } ?? [] }
}
