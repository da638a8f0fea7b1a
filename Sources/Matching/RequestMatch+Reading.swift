package import Notifications

/// Why a match is not valid.
package struct MatchError: Error, Sendable, Hashable {
    /// The place of the fault in the document (RFC 6901).
    package var pointer: String
    /// What is allowed there.
    package var detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension RequestMatch {
    /// Reads the document that docs/testing.md describes.
    /// - Parameter pointer: the place of this document if it is part of a larger one.
    /// - Throws: if a key is unknown, or if no request can have the value.
    package init(_ value: JSONValue, at pointer: String = "") throws(MatchError) {
        guard case .object(let members) = value else {
            throw MatchError(pointer, "The value is of the type \(value.typeName); it has to be an object.")
        }
        for name in members.keys.sorted() where Key(rawValue: name) == nil {
            let known = Key.allCases.map(\.rawValue).joined(separator: ", ")
            throw MatchError(
                "\(pointer)/\(Self.escaped(name))", "The key is unknown; the object takes \(known).")
        }
        let reader = MatchReader(members: members, pointer: pointer)
        team = try reader.text(.team, "ten capital letters and digits", TeamID.init(rawValue:))
        topic = try reader.text(.topic)
        token = try reader.text(.token, "hexadecimal digits", Self.token)
        device = try reader.text(.device, "a device ID: 16 hexadecimal digits") { DeviceID($0) }
        environment = try reader.choice(.environment)
        interface = try reader.choice(.protocol)
        pushType = try reader.text(.pushType)
        apnsID = try reader.text(.apnsID, "a UUID") { NotificationID($0) }
        collapseID = try reader.text(.collapseID)
        channel = try reader.text(.channel)
        status = try reader.integer(.status, 0...599).map(Int.init)
        reason = try reader.text(.reason, "a reason of docs/provider-api.md or docs/binary-api.md") {
            Self.reasons.contains($0) ? $0 : nil
        }
        outcome = try reader.choice(.outcome)
        after = try reader.integer(.after, 0...Int64.max).map(UInt64.init)
        payload = try reader.object(.payload)
    }

    /// All reasons that an answer may have.
    private static let reasons = Set(
        Rejection.Reason.allCases.map(\.rawValue) + PacketStatus.allCases.map(\.reason))

    /// The key escaped for a JSON pointer (RFC 6901, 3).
    private static func escaped(_ name: String) -> String {
        var text = ""
        for character in name {
            switch character {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.append(character)
            }
        }
        return text
    }

    private static func token(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else { return nil }
        return text.lowercased()
    }
}

/// Reads the keys of a match, each with its own rule.
private struct MatchReader {
    let members: [String: JSONValue]
    let pointer: String

    func text(_ key: RequestMatch.Key) throws(MatchError) -> String? { try text(key, "a string") { $0 } }

    func text<Value>(
        _ key: RequestMatch.Key,
        _ name: String,
        _ make: (String) -> Value?,
    ) throws(MatchError) -> Value? {
        guard let value = members[key.rawValue] else { return nil }
        guard case .string(let text) = value else { throw wrongType(key, value, name) }
        guard let made = make(text) else { throw MatchError(place(key), "The value has to be \(name).") }
        return made
    }

    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ key: RequestMatch.Key
    ) throws(MatchError) -> Value? {
        let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return try text(key, "one of \(choices)", Value.init(rawValue:))
    }

    func integer(_ key: RequestMatch.Key, _ range: ClosedRange<Int64>) throws(MatchError) -> Int64? {
        guard let value = members[key.rawValue] else { return nil }
        guard case .integer(let number) = value else { throw wrongType(key, value, "an integer") }
        guard range.contains(number) else {
            throw MatchError(place(key), "The value has to be from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    func object(_ key: RequestMatch.Key) throws(MatchError) -> JSONValue? {
        guard let value = members[key.rawValue] else { return nil }
        guard case .object = value else { throw wrongType(key, value, "an object") }
        return value
    }

    private func place(_ key: RequestMatch.Key) -> String { "\(pointer)/\(key.rawValue)" }

    private func wrongType(_ key: RequestMatch.Key, _ value: JSONValue, _ name: String) -> MatchError {
        MatchError(place(key), "The value is of the type \(value.typeName); it has to be \(name).")
    }
}
