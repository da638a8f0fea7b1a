import HTTPTypes

/// The names of header fields that browsers know and the library for HTTP does not. A test reads each of them.
enum FieldName: String, CaseIterable {
    case fetchSite = "Sec-Fetch-Site"
    case openerPolicy = "Cross-Origin-Opener-Policy"
    /// What browsers sent before `Sec-Purpose` became the standard.
    case purpose = "Purpose"
    case referrerPolicy = "Referrer-Policy"
}

extension HTTPFields {
    subscript(name: FieldName) -> String? {
        get { Self.name(name).flatMap { self[$0] } }
        set { if let name = Self.name(name) { self[name] = newValue } }
    }

    subscript(values name: FieldName) -> [String] { Self.name(name).map { self[values: $0] } ?? [] }

    static func name(_ name: FieldName) -> HTTPField.Name? { HTTPField.Name(name.rawValue) }
}
