import Notifications
import Trust

extension ProviderRequest {
    /// Parses a header. Its value is checked by itself, without looking at other headers. The path comes before all headers
    /// that mean something else with another path (RFC 9113, 8.3).
    func read(_ header: RequestHeader, _ value: Span<UInt8>) {
        texts?[header] = value.text
        switch header {
        case .method: method = Self.method(value)
        case .path: path = Self.path(value)
        case .channelID: if isBroadcast { channel = BroadcastPush.channel(value) }
        case .requestID: if isBroadcast { id = BroadcastPush.requestID(value) }
        case .pushType: pushType = isBroadcast ? BroadcastPush.pushType(value) : Self.pushType(value)
        case .id: if !isBroadcast { id = Self.notificationID(value) }
        case .expiration: expiration = Self.expiration(value)
        case .priority: priority = Self.priority(value)
        case .collapseID: collapseID = Self.collapseID(value)
        case .contentEncoding: isCompressed = !value.isEqual(to: "identity")
        case .via:
            // The session limits the size of all headers together.
            via += via.isEmpty ? value.text : ", " + value.text
        case .authorization, .topic: break
        }
    }

    private static func method(_ value: Span<UInt8>) -> Method {
        if value.isEqual(to: "POST") { return .post }
        if value.isEqual(to: "HEAD") { return .head }
        return value.isEqual(to: "DELETE") ? .delete : .other
    }

    /// Parses `/3/device/` and the device token in hexadecimal digits.
    private static func path(_ value: Span<UInt8>) -> Path {
        let prefix: StaticString = "/3/device"
        let prefixCount = prefix.utf8CodeUnitCount
        guard value.count >= prefixCount, value.extracting(first: prefixCount).isEqual(to: prefix) else {
            if let bundleID = BroadcastPush.bundleID(inPath: value) { return .broadcast(bundleID) }
            return HandleRequest.isPath(value) ? .handles(value.text) : .bad
        }
        guard value.count > prefixCount else { return .withoutDeviceToken }
        guard value[prefixCount] == UInt8(ascii: "/") else { return .bad }
        let digits = value.extracting(droppingFirst: prefixCount + 1)
        guard !digits.isEmpty else { return .withoutDeviceToken }
        if let token = DeviceToken(hexadecimal: digits) { return .deviceToken(token) }
        let text = digits.text
        if text.utf8.contains(UInt8(ascii: "/")) { return .bad }
        if let fault = DeviceToken.fault(in: text) { return .badDeviceToken(fault) }
        if let bytes = Hexadecimal.bytes(text), NamedTokens.byteCounts.contains(bytes.count) {
            return .otherDeviceToken(bytes)
        }
        return .badDeviceToken(otherSize(digits.count))
    }

    static func otherSize(_ digits: Int) -> String {
        "The device token has \(digits) digits; no device token of this service has that many."
    }

    static func notificationID(_ value: Span<UInt8>) -> Field<NotificationID> {
        if let id = NotificationID(value) { return .value(id) }
        return .bad("apns-id must be a canonical UUID: 32 hexadecimal digits in groups of 8-4-4-4-12.")
    }

    private static func expiration(_ value: Span<UInt8>) -> Field<Expiration> {
        guard let seconds = wholeNumber(value) else {
            return .bad("apns-expiration must be a date in whole seconds since 1970, or 0.")
        }
        return .value(Expiration(seconds: seconds))
    }

    private static func priority(_ value: Span<UInt8>) -> Field<Priority> {
        if value.isEqual(to: "10") { return .value(.immediate) }
        if value.isEqual(to: "5") { return .value(.considerate) }
        if value.isEqual(to: "1") { return .value(.low) }
        return .bad("apns-priority must be 10, 5 or 1.")
    }

    private static func pushType(_ value: Span<UInt8>) -> Field<PushType> {
        // Compare the bytes first, because most requests have one of these two push types.
        if value.isEqual(to: "alert") { return .value(.alert) }
        if value.isEqual(to: "background") { return .value(.background) }
        if let type = PushType(rawValue: value.text) { return .value(type) }
        let known = PushType.allCases.map(\.rawValue).joined(separator: ", ")
        return .bad("apns-push-type must be one of \(known).")
    }

    private static func collapseID(_ value: Span<UInt8>) -> Field<CollapseIdentifier> {
        guard !value.isEmpty else { return .absent }
        // Do not repair invalid UTF-8, because two identifiers could become equal.
        guard let text = value.validText else { return .bad("apns-collapse-id is not text in UTF-8.") }
        if let identifier = CollapseIdentifier(rawValue: text) { return .value(identifier) }
        return .bad(
            "apns-collapse-id is \(value.count) bytes; at most \(CollapseIdentifier.maximumBytes) are allowed."
        )
    }

    /// Parses a number that fits into 64 bits and has only digits, without sign or space.
    private static func wholeNumber(_ value: Span<UInt8>) -> UInt64? {
        guard (1...20).contains(value.count) else { return nil }
        var number: UInt64 = 0
        for index in 0..<value.count {
            let digit = value[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            let (product, productOverflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = product.addingReportingOverflow(UInt64(digit))  // fits: a digit
            guard !productOverflow, !sumOverflow else { return nil }
            number = sum
        }
        return number
    }
}
