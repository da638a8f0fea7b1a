package import Notifications

/// Why a match is not valid.
package struct MatchError: DocumentFault, Sendable, Hashable {
    /// The place of the fault in the document (RFC 6901).
    package var pointer: String
    /// What is allowed there.
    package var detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }

    package static func invalid(_ pointer: String, _ detail: String) -> MatchError { MatchError(pointer, detail) }
}

extension RequestMatch {
    /// Reads the document that docs/testing.md describes.
    /// - Parameter pointer: the place of this document if it is part of a larger one.
    /// - Throws: if a key is unknown, or if no request can have the value.
    package init(_ value: JSONValue, at pointer: String = "") throws(MatchError) {
        let reader = try JSONReader<MatchError>(
            value, at: pointer, keys: Member.allCases.map(\.rawValue), nullIsMissing: false)
        team = try reader.text(.team, AccountIDs.form, TeamID.init(rawValue:))
        topic = try reader.text(.topic)
        token = try reader.text(.token, "hexadecimal digits", Self.token)
        device = try reader.text(.device, "a device ID: 16 hexadecimal digits") { DeviceID($0) }
        environment = try reader.choice(.environment)
        interface = try reader.choice(.protocol)
        serverName = try reader.text(.serverName)?.lowercased()
        pushType = try reader.text(.pushType)
        apnsID = try reader.text(.apnsID, "a UUID") { NotificationID($0) }
        collapseID = try reader.text(.collapseID)
        channel = try reader.text(.channel)
        subscription = try reader.text(.subscription)
        text = try reader.text(.text)
        status = try reader.integer(.status, 0...599).map(Int.init)  // fits: the range was checked
        reason = try reader.text(.reason, "a reason of docs/provider-api.md or docs/binary-api.md") {
            Self.reasons.contains($0) ? $0 : nil
        }
        outcome = try reader.choice(.outcome)
        after = try reader.integer(.after, 0...Int64.max).map(UInt64.init)  // fits: the range was checked
        payload = try reader.object(.payload)
    }

    /// All reasons that an answer may have.
    private static let reasons = Set(
        Rejection.Reason.allCases.map(\.rawValue) + BinaryStatus.faults.map(\.reason))

    private static func token(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else { return nil }
        return text.lowercased()
    }
}

// Reads the keys of a match, each with its own rule.
extension JSONReader where Fault == MatchError {
    fileprivate func text(_ key: RequestMatch.Member) throws(MatchError) -> String? { try text(key.rawValue) }

    fileprivate func text<Value>(
        _ key: RequestMatch.Member,
        _ name: String,
        _ make: (String) -> Value?,
    ) throws(MatchError) -> Value? {
        guard let value = members[key.rawValue] else { return nil }
        guard case .string(let text) = value else { throw wrongType(key.rawValue, value, name) }
        guard let made = make(text) else { throw fault(key.rawValue, name) }
        return made
    }

    fileprivate func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ key: RequestMatch.Member
    ) throws(MatchError) -> Value? {
        let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return try text(key, "one of \(choices)", Value.init(rawValue:))
    }

    fileprivate func integer(_ key: RequestMatch.Member, _ range: ClosedRange<Int64>) throws(MatchError) -> Int64? {
        try integer(key.rawValue, range)
    }

    fileprivate func object(_ key: RequestMatch.Member) throws(MatchError) -> JSONValue? {
        guard let value = members[key.rawValue] else { return nil }
        guard case .object = value else { throw wrongType(key.rawValue, value, "an object") }
        return value
    }
}
