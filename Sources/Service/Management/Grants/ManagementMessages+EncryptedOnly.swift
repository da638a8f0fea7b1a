import Delivery
package import HTTPAPI
package import Notifications

extension ManagementMessages {
    /// Whether a grant may send encrypted payloads only, and of which form: `true`, `false`, `"web-push"`, `"matrix"` or
    /// `{"keys":{NAME:KIND}}`.
    package enum EncryptedOnly: Sendable, Hashable, Codable, ExpressibleByBooleanLiteral {
        case off
        case any
        case webPush
        case matrix
        /// Each key beside `aps`, and of which kind it is: one of ``kinds``.
        case keys([String: String])

        package static let kinds = EncryptedForm.Kind.allCases.map(\.rawValue)

        package init(booleanLiteral value: Bool) { self = value ? .any : .off }

        package static let form: JSONForm<EncryptedOnly> = JSONForm<JSONValue>.json(
            .oneOf([
                .boolean, .string(.oneOf(["web-push", "matrix"])), .object([.required("keys", .openObject, meaning)]),
            ])
        ).map(to: { $0.json }, from: { EncryptedOnly($0) }, allowed: allowed)

        private static let meaning = "The keys that may be beside aps, each opaque, number or identifier."
        private static let allowed =
            "true, false, web-push, matrix, or an object with keys: at most \(EncryptedForm.maximumKeys) names of at most "
            + "\(EncryptedForm.maximumNameBytes) letters, digits, _ and -, each with \(kinds.joined(separator: ", "))"

        /// - Returns: nil for anything else.
        package init?(_ value: JSONValue) {
            switch value {
            case .bool(let isTrue): self = isTrue ? .any : .off
            case .string("web-push"): self = .webPush
            case .string("matrix"): self = .matrix
            case .object(let members):
                guard members.count == 1, case .object(let keys)? = members["keys"],
                    keys.count <= EncryptedForm.maximumKeys
                else { return nil }
                var kinds: [String: String] = [:]
                for (name, value) in keys {
                    guard EncryptedForm.isName(name), case .string(let kind) = value, Self.kinds.contains(kind) else {
                        return nil
                    }
                    kinds[name] = kind
                }
                self = .keys(kinds)
            default: return nil
            }
        }

        package var json: JSONValue {
            switch self {
            case .off: .bool(false)
            case .any: .bool(true)
            case .webPush: "web-push"
            case .matrix: "matrix"
            case .keys(let keys): ["keys": .object(keys.mapValues { .string($0) })]
            }
        }

        package init(from decoder: any Decoder) throws {
            self = try Self.form.read(try JSONValue(from: decoder), isStrict: false)
        }

        package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
    }
}

extension ManagementMessages.EncryptedOnly {
    init(_ limits: GrantLimits) {
        switch limits.encrypted {
        case nil: self = .off
        case .any: self = .any
        case .webPush: self = .webPush
        case .matrix: self = .matrix
        case .keys(let keys): self = .keys(keys.mapValues(\.rawValue))
        }
    }

    /// Sets the limit.
    func set(_ limits: inout GrantLimits) {
        limits.encryptedOnly = self != .off
        limits.encryptedForm =
            switch self {
            case .off, .any: nil
            case .webPush: .webPush
            case .matrix: .matrix
            case .keys(let keys): .keys(keys.compactMapValues { EncryptedForm.Kind(rawValue: $0) })
            }
    }
}
